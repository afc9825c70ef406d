import { compileExpression } from '../../expression/analysis/compile-expression.ts';
import { evaluate } from '../../expression/evaluation/evaluate.ts';
import { UwfError } from '../../errors.ts';
import type { JsonValue } from '../../json.ts';
import { UsageError } from '../errors/exit-code.ts';

/** Checks the expression of `--query` before the command runs. */
export async function assertQuery(query: string): Promise<void> {
  try {
    await compileExpression(query);
  } catch (error) {
    throw error instanceof UwfError ? new UsageError(`--query: ${error.message}`, error.hint) : error;
  }
}

/** Evaluates `--query` on a command's JSON, in the sandbox of rules; it may also read the clock. `undefined`: nothing found. */
export function runQuery(query: string, value: JsonValue): Promise<JsonValue | undefined> {
  return evaluate(query, { input: value, bindings: {} }, { mayVary: true });
}
