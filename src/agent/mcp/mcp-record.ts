import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { orElse, tryTo } from '../../or-else.ts';
import { isJsonObject, type JsonObject, parseJson } from '../../json.ts';
import { arrayOf, isString, objectOf } from '../../shape.ts';

/** In a step's folder: what uwf's own MCP server was asked in that turn, a line for each. */
const FILE = 'mcp-asked.jsonl';

/** What an agent has had of uwf's server: that it was started, which tools it has, that one was run. */
export type AskedOfServer = Started | Listed | Called;
type Started = { started: true };
type Listed = { listed: { name: string; inputSchema: JsonObject }[] };
type Called = { called: string };

const isStarted = objectOf<Started>({ started: (value): value is true => value === true });
const isListed = objectOf<Listed>({ listed: arrayOf(objectOf({ name: isString, inputSchema: isJsonObject })) });
const isCalled = objectOf<Called>({ called: isString });

/** Writes down what the server of a turn was asked, before it answers. */
export function recordAsked(stepDir: string, asked: AskedOfServer): void {
  // An error means that the turn is over and its folder gone: the record is of no use any more.
  tryTo(() => appendFileSync(join(stepDir, FILE), `${JSON.stringify(asked)}\n`));
}

/** What the server of a turn was asked so far, oldest first. */
export function readAsked(stepDir: string): AskedOfServer[] {
  const text = orElse(() => readFileSync(join(stepDir, FILE), 'utf8'), '');
  // The last line may be half written.
  const values = text.split('\n').map(parseJson);
  return values.filter((value) => isStarted(value) || isListed(value) || isCalled(value));
}
