import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { isJsonObject } from '../json.ts';
import type { JsonObject } from '../json.ts';

/** In a step's folder: what uwf's own MCP server was asked in that turn, a line for each. */
const FILE = 'mcp-asked.jsonl';

/** What an agent has had of uwf's server: that it was started, which tools it has, that one was run. */
export type AskedOfServer =
  | { started: true }
  | { listed: { name: string; inputSchema: JsonObject }[] }
  | { called: string };

/** Writes down what the server of a turn was asked, before it answers. */
export function recordAsked(stepDir: string, asked: AskedOfServer): void {
  try {
    appendFileSync(join(stepDir, FILE), `${JSON.stringify(asked)}\n`);
  } catch {
    // The turn is over and its folder gone: it is of no use any more.
  }
}

/** What the server of a turn was asked so far, oldest first. */
export function readAsked(stepDir: string): AskedOfServer[] {
  let text: string;
  try {
    text = readFileSync(join(stepDir, FILE), 'utf8');
  } catch {
    return [];
  }
  return text.split('\n').flatMap((line) => parseAsked(line) ?? []);
}

function parseAsked(line: string): AskedOfServer | undefined {
  try {
    const value: unknown = JSON.parse(line);
    if (!isJsonObject(value)) return undefined;
    const { called, listed, started } = value;
    if (started === true) return { started };
    if (typeof called === 'string') return { called };
    if (!Array.isArray(listed)) return undefined;
    const tools = listed.flatMap((tool) => {
      if (!isJsonObject(tool) || typeof tool['name'] !== 'string') return [];
      return [{ name: tool['name'], inputSchema: isJsonObject(tool['inputSchema']) ? tool['inputSchema'] : {} }];
    });
    return { listed: tools };
  } catch {
    // The last line may be half written.
    return undefined;
  }
}
