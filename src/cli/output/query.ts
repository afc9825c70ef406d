import { evaluate } from '../../expression/evaluate.ts';
import type { JsonValue } from '../../json.ts';

/**
 * Evaluates what `--query` asks of a command's JSON, in the box that rules have; a person's own question may ask for the
 * time as well.
 *
 * @returns `undefined` where the expression finds nothing
 */
export function runQuery(query: string, value: JsonValue): Promise<JsonValue | undefined> {
  return evaluate(query, { input: value, bindings: {} }, { mayVary: true });
}
