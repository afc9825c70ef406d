import { stat } from 'node:fs/promises';

import { ToolFailure } from './tool.ts';
import type { Tool } from './tool.ts';
import { walkFolder } from './walk-folder.ts';
import type { WorkFolder } from './work-folder.ts';

const MAX_ENTRIES = 1000;

/** The tool that lists folders. */
export function listTool(folder: WorkFolder): Tool {
  return {
    name: 'list',
    description: `Lists files and folders (with a / at the end), at most ${MAX_ENTRIES}.`,
    inputSchema: {
      type: 'object',
      properties: {
        path: { type: 'string', description: 'the folder; by default the working folder' },
        depth: { type: 'integer', minimum: 1, maximum: 20, description: 'how deep to go (1)' },
      },
      additionalProperties: false,
    },
    async run(input, signal) {
      const { path = '.', depth = 1 } = input as { path?: string; depth?: number };
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
  };
}
