import { setImmediate as nextTurn } from 'node:timers/promises';

import { runInTimeBox, ValidationTimeout } from '../../../schema/json-schema/time-box.ts';
import { flagSchema, NOT_EMPTY, objectSchema, textSchema } from '../../typed-schema.ts';
import { defineTool, ToolFailure } from './tool.ts';
import type { Tool } from './tool.ts';
import { walkFolder } from './walk-folder.ts';
import type { WorkFolder } from './work-folder.ts';
import { messageOf } from '../../../errors.ts';

const MAX_MATCHES = 200;
const MAX_LINE_CHARACTERS = 300;
const MAX_DEPTH = 40;
/** How long the expression may take on one file, and on all. */
const FILE_MS = 1000;
const TOTAL_MS = 20_000;

/** The tool that searches files for a text or a regular expression. */
export function searchTool(folder: WorkFolder): Tool {
  return defineTool({
    name: 'search',
    description: `Searches text files line by line and lists path:line: text, at most ${MAX_MATCHES} lines. Leaves out node_modules and what is git's.`,
    input: objectSchema(
      { pattern: textSchema('a text, or with regex a regular expression', NOT_EMPTY) },
      {
        regex: flagSchema('pattern is a regular expression of JavaScript'),
        ignoreCase: flagSchema(),
        path: textSchema('a folder or a file; by default the working folder'),
        extension: textSchema('only files whose name ends so: .ts'),
      },
    ),
    async run({ pattern, regex = false, ignoreCase = false, path = '.', extension = '' }, signal) {
      const expression = compile(
        regex ? pattern : pattern.replaceAll(/[\\^$.*+?()[\]{}|/]/gu, String.raw`\$&`),
        ignoreCase,
      );
      const found: string[] = [];
      let spentMs = 0;
      for await (const real of filesIn(folder, await folder.find(path))) {
        signal.throwIfAborted();
        if (!real.endsWith(extension)) continue;
        const text = await folder.readToSearch(real);
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
  });
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
    throw new ToolFailure(messageOf(error));
  }
}
