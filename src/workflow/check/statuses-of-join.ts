import { literalResults } from '../../expression/analysis/literal-results.ts';
import { ExpressionSyntaxError } from '../../expression/expression-errors.ts';
import type { JsonObject } from '../../json.ts';
import { inPlaceOf } from '../../or-else.ts';
import { CONFLICT, FAILED, isExpression, JOINED, type BlockDefinition } from '../definition.ts';

/**
 * Returns the schema of what a block reports, with the list of its statuses if the expression of its join shows them: a comparison
 * gives `joined` or `failed`, a condition the texts in it. The stored schema leaves them open.
 */
export async function schemaWithStatuses(
  schema: JsonObject,
  { join, merge }: Pick<BlockDefinition, 'join' | 'merge'>,
): Promise<JsonObject> {
  if (!isExpression(join)) return schema;
  const results = await literalResults(join).catch(inPlaceOf(ExpressionSyntaxError, undefined));
  if (results === undefined) return schema;
  const joined = [...results].flatMap((result) => (result === true ? JOINED : result || []));
  const statuses = new Set([...joined, FAILED, ...(merge ? [CONFLICT] : [])]);
  return { allOf: [schema, { properties: { $status: { enum: [...statuses] } } }] };
}
