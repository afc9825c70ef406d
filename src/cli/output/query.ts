import { compileExpression } from '../../expression/compile-expression.ts';
import { evaluate } from '../../expression/evaluate.ts';
import { UwfError } from '../../errors.ts';
import type { JsonValue } from '../../json.ts';
import { UsageError } from '../usage-error.ts';

/**
 * Looks at what `--query` asks before a command does anything.
 * @throws {UsageError} if it is not JSONata
 */
export async function assertQuery(query: string): Promise<void> {
  try {
    await compileExpression(query);
  } catch (error) {
    throw error instanceof UwfError ? new UsageError(`--query: ${error.message}`, error.hint) : error;
  }
}

/**
 * Evaluates what `--query` asks of a command's JSON, in the box that rules have; a person's own question may ask for the
 * time as well.
 *
 * @returns `undefined` where the expression finds nothing
 */
export function runQuery(query: string, value: JsonValue): Promise<JsonValue | undefined> {
  return evaluate(query, { input: value, bindings: {} }, { mayVary: true });
}
