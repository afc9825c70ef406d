import { stat } from 'node:fs/promises';

import type { JsonObject } from '../../../json.ts';
import { readTextFile, writeTextFile } from './open-file.ts';
import { ToolFailure } from './tool.ts';
import type { Tool } from './tool.ts';
import type { WorkFolder } from './work-folder.ts';

const MAX_LINES = 2000;
const path: JsonObject = { type: 'string', minLength: 1, description: 'from the working folder on' };

/** The tools that read and change files of the working folder. */
export function fileTools(folder: WorkFolder): Tool[] {
  return [readFileTool(folder), writeFileTool(folder), editFileTool(folder)];
}

function readFileTool(folder: WorkFolder): Tool {
  return {
    name: 'read_file',
    description: `Reads a text file, at most ${MAX_LINES} lines at once.`,
    inputSchema: {
      type: 'object',
      properties: {
        path,
        offset: { type: 'integer', minimum: 1, description: 'the first line, from 1' },
        limit: { type: 'integer', minimum: 1, description: 'how many lines' },
      },
      required: ['path'],
      additionalProperties: false,
    },
    async run(input) {
      const { path, offset = 1, limit = MAX_LINES } = input as { path: string; offset?: number; limit?: number };
      const text = await readTextFile(folder, await folder.find(path));
      const lines = text.split('\n');
      if (lines.at(-1) === '') lines.pop();
      const end = Math.min(offset - 1 + Math.min(limit, MAX_LINES), lines.length);
      if (offset === 1 && end === lines.length) return text;
      if (offset > lines.length) throw new ToolFailure(`'${path}' has ${lines.length} lines`);
      const rest = end < lines.length ? `; go on with offset ${end + 1}` : '';
      return `${lines.slice(offset - 1, end).join('\n')}\n[lines ${offset} to ${end} of ${lines.length}${rest}]`;
    },
  };
}

function writeFileTool(folder: WorkFolder): Tool {
  return {
    name: 'write_file',
    description: 'Writes a text file, in place of what was there; folders are made as needed.',
    inputSchema: {
      type: 'object',
      properties: { path, content: { type: 'string' } },
      required: ['path', 'content'],
      additionalProperties: false,
    },
    async run(input) {
      const { path, content } = input as { path: string; content: string };
      const real = await folder.findToWrite(path);
      const before = await stat(real).catch(() => undefined);
      if (before !== undefined && !before.isFile()) throw new ToolFailure(`'${path}' is there and is not a file`);
      await writeTextFile(folder, real, content);
      return `${before === undefined ? 'made' : 'replaced'} ${folder.nameOf(real)}, ${Buffer.byteLength(content)} bytes`;
    },
  };
}

function editFileTool(folder: WorkFolder): Tool {
  return {
    name: 'edit_file',
    description:
      'Replaces a piece of a text file. The piece has to be there exactly as given, and once unless all is true.',
    inputSchema: {
      type: 'object',
      properties: {
        path,
        old: { type: 'string', minLength: 1, description: 'the piece, with its white space' },
        new: { type: 'string', description: 'what comes in its place' },
        all: { type: 'boolean', description: 'replace it wherever it is' },
      },
      required: ['path', 'old', 'new'],
      additionalProperties: false,
    },
    async run(input) {
      const { path, old, all = false, ...rest } = input as { path: string; old: string; new: string; all?: boolean };
      const real = await folder.find(path, 'write');
      const pieces = (await readTextFile(folder, real)).split(old);
      const count = pieces.length - 1;
      if (count === 0) throw new ToolFailure(`'${path}' does not have that piece; read it again and give it exactly`);
      if (count > 1 && !all) {
        throw new ToolFailure(`'${path}' has that piece ${count} times; give more of what is around it, or all: true`);
      }
      await writeTextFile(folder, real, pieces.join(rest.new));
      return `replaced ${count === 1 ? 'one piece' : `${count} pieces`} of ${folder.nameOf(real)}`;
    },
  };
}
