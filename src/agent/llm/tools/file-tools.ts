import { stat } from 'node:fs/promises';

import { flagSchema, integerSchema, NOT_EMPTY, objectSchema, textSchema } from '../../typed-schema.ts';
import { defineTool, ToolFailure } from './tool.ts';
import type { Tool } from './tool.ts';
import type { WorkFolder } from './work-folder.ts';
import { walkFolder } from './walk-folder.ts';

const MAX_LINES = 2000;
const pathSchema = textSchema('from the working folder on', NOT_EMPTY);

const MAX_ENTRIES = 1000;

/** The tools that read, change and list files of the working folder. */
export function fileTools(folder: WorkFolder): Tool[] {
  return [
    defineTool({
      name: 'read_file',
      description: `Reads a text file (UTF-8), at most ${MAX_LINES} lines at once.`,
      input: objectSchema(
        { path: pathSchema },
        { offset: integerSchema('the first line, from 1', 1), limit: integerSchema('how many lines', 1) },
      ),
      async run({ path, offset = 1, limit = MAX_LINES }) {
        const content = await folder.readText(await folder.find(path));
        const lines = content.split('\n');
        if (lines.at(-1) === '') lines.pop();
        const end = Math.min(offset - 1 + Math.min(limit, MAX_LINES), lines.length);
        if (offset === 1 && end === lines.length) return content;
        if (offset > lines.length) throw new ToolFailure(`'${path}' has ${lines.length} lines`);
        const rest = end < lines.length ? `; go on with offset ${end + 1}` : '';
        return `${lines.slice(offset - 1, end).join('\n')}\n[lines ${offset} to ${end} of ${lines.length}${rest}]`;
      },
    }),
    defineTool({
      name: 'write_file',
      description: 'Writes a text file, in place of what was there; folders are made as needed.',
      input: objectSchema({ path: pathSchema, content: textSchema() }, {}),
      async run({ path, content }) {
        const real = await folder.findToWrite(path);
        const before = await stat(real).catch(() => undefined);
        if (before !== undefined && !before.isFile()) throw new ToolFailure(`'${path}' is there and is not a file`);
        // The model copied a � from a command's output: it stands for bytes that the model has not seen.
        if (before !== undefined && content.includes('�')) await folder.readText(real);
        await folder.writeText(real, content);
        return `${before === undefined ? 'made' : 'replaced'} ${folder.nameOf(real)}, ${Buffer.byteLength(content)} bytes`;
      },
    }),
    defineTool({
      name: 'edit_file',
      description:
        'Replaces a piece of a text file (UTF-8). The piece has to be there exactly as given, and once unless all is true.',
      input: objectSchema(
        {
          path: pathSchema,
          old: textSchema('the piece, with its white space', NOT_EMPTY),
          new: textSchema('what comes in its place'),
        },
        { all: flagSchema('replace it wherever it is') },
      ),
      async run({ path, old, new: replacement, all = false }) {
        const real = await folder.find(path, 'write');
        const pieces = (await folder.readText(real)).split(old);
        const count = pieces.length - 1;
        if (count === 0) throw new ToolFailure(`'${path}' does not have that piece; read it again and give it exactly`);
        if (count > 1 && !all) {
          throw new ToolFailure(
            `'${path}' has that piece ${count} times; give more of what is around it, or all: true`,
          );
        }
        await folder.writeText(real, pieces.join(replacement));
        return `replaced ${count === 1 ? 'one piece' : `${count} pieces`} of ${folder.nameOf(real)}`;
      },
    }),
    defineTool({
      name: 'list',
      description: `Lists files and folders (with a / at the end), at most ${MAX_ENTRIES}.`,
      input: objectSchema(
        {},
        {
          path: textSchema('the folder; by default the working folder'),
          depth: integerSchema('how deep to go (1)', 1, { maximum: 20 }),
        },
      ),
      async run({ path = '.', depth = 1 }, signal) {
        const real = await folder.find(path);
        if (!(await stat(real)).isDirectory()) throw new ToolFailure(`'${path}' is not a folder`);
        const lines: string[] = [];
        for await (const entry of walkFolder(folder, real, depth)) {
          signal.throwIfAborted();
          if (lines.length >= MAX_ENTRIES) return [...lines, '[there is more; list a folder in it]'].join('\n');
          lines.push(folder.nameOf(entry.path) + (entry.isFolder ? '/' : ''));
        }
        return lines.length === 0 ? '[nothing is in it]' : lines.join('\n');
      },
    }),
  ];
}
