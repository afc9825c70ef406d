import { setImmediate as nextTurn } from 'node:timers/promises';

import { runInTimeBox, ValidationTimeout } from '../../../schema/time-box.ts';
import { readTextFile } from './open-file.ts';
import { ToolFailure } from './tool.ts';
import type { Tool } from './tool.ts';
import { walkFolder } from './walk-folder.ts';
import type { WorkFolder } from './work-folder.ts';

const MAX_MATCHES = 200;
const MAX_LINE_CHARACTERS = 300;
const MAX_DEPTH = 40;
/** How long the expression may take on one file, and on all. */
const FILE_MS = 1000;
const TOTAL_MS = 20_000;

/** The tool that searches files for a text or a regular expression. */
export function searchTool(folder: WorkFolder): Tool {
  return {
    name: 'search',
    description: `Searches text files line by line and lists path:line: text, at most ${MAX_MATCHES} lines. Leaves out node_modules and what is git's.`,
    inputSchema: {
      type: 'object',
      properties: {
        pattern: { type: 'string', minLength: 1, description: 'a text, or with regex a regular expression' },
        regex: { type: 'boolean', description: 'pattern is a regular expression of JavaScript' },
        ignoreCase: { type: 'boolean' },
        path: { type: 'string', description: 'a folder or a file; by default the working folder' },
        extension: { type: 'string', description: 'only files whose name ends so: .ts' },
      },
      required: ['pattern'],
      additionalProperties: false,
    },
    async run(input, signal) {
      const {
        pattern,
        regex = false,
        ignoreCase = false,
        path = '.',
        extension = '',
      } = input as {
        pattern: string;
        regex?: boolean;
        ignoreCase?: boolean;
        path?: string;
        extension?: string;
      };
      const expression = compile(regex ? pattern : escape(pattern), ignoreCase);
      const found: string[] = [];
      let spentMs = 0;
      for await (const real of filesIn(folder, await folder.find(path))) {
        signal.throwIfAborted();
        if (!real.endsWith(extension)) continue;
        const text = await readTextFile(folder, real).catch(() => undefined);
        if (text === undefined) continue;
        const startedMs = performance.now();
        found.push(...matchesIn(text, expression, folder.nameOf(real), MAX_MATCHES - found.length + 1));
        spentMs += performance.now() - startedMs;
        if (spentMs > TOTAL_MS)
          throw new ToolFailure(`the search took too long; search a smaller folder than '${path}'`);
        if (found.length > MAX_MATCHES) {
          return [...found.slice(0, MAX_MATCHES), '[there are more; search for something rarer]'].join('\n');
        }
        // The engine's clocks and the abort get their turn between two files.
        await nextTurn();
      }
      return found.length === 0 ? '[nothing matches]' : found.join('\n');
    },
  };
}

async function* filesIn(folder: WorkFolder, real: string): AsyncGenerator<string, void, void> {
  let isEmpty = true;
  for await (const { path, isFolder } of walkFolder(folder, real, MAX_DEPTH)) {
    isEmpty = false;
    if (!isFolder) yield path;
  }
  // A file has nothing in it, as an empty folder; reading tells them apart.
  if (isEmpty) yield real;
}

/** Finds the lines that match; an expression that does not come to an end is stopped. */
function matchesIn(text: string, expression: RegExp, name: string, limit: number): string[] {
  const search = (): string[] => {
    const found: string[] = [];
    for (const [index, line] of text.split('\n').entries()) {
      if (!expression.test(line)) continue;
      const shown = line.length > MAX_LINE_CHARACTERS ? `${line.slice(0, MAX_LINE_CHARACTERS)} […]` : line;
      if (found.push(`${name}:${index + 1}: ${shown}`) >= limit) break;
    }
    return found;
  };
  try {
    return runInTimeBox(search, FILE_MS);
  } catch (error) {
    if (!(error instanceof ValidationTimeout)) throw error;
    throw new ToolFailure(`the expression does not come to an end on ${name}; write one that repeats no repetition`);
  }
}

function compile(source: string, ignoreCase: boolean): RegExp {
  try {
    return new RegExp(source, ignoreCase ? 'iu' : 'u');
  } catch (error) {
    throw new ToolFailure(error instanceof Error ? error.message : String(error));
  }
}

function escape(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/gu, String.raw`\$&`);
}
