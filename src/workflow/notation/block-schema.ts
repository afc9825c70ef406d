import type { JsonObject } from '../../json.ts';
import { closedObject } from '../../schema/built-in/schema-parts.ts';
import { CONFLICT, FAILED, isExpression, JOINED, type BlockDefinition } from '../definition.ts';

/**
 * The schema of the meta of a block's step. It is stored with the workflow, so its text is part of the hash of every workflow
 * with a block: a changed schema is for new workflows only.
 */
export function blockSchema({ join, merge }: Pick<BlockDefinition, 'join' | 'merge'>): JsonObject {
  const isOpen = isExpression(join);
  const statuses = [JOINED, FAILED, ...(merge ? [CONFLICT] : [])];
  const conflicts: JsonObject = {
    type: 'array',
    items: closedObject({
      path: { type: 'string' },
      kind: { type: 'string' },
      keys: { type: 'array', items: { type: 'string' } },
    }),
  };
  return closedObject(
    {
      $status: isOpen ? { type: 'string', minLength: 1 } : { enum: statuses },
      order: { type: 'array', items: { type: 'string' }, uniqueItems: true },
      branches: {
        type: 'object',
        additionalProperties: closedObject({
          status: { type: ['string', 'null'] },
          meta: { type: ['object', 'null'] },
          end: closedObject({
            outcome: { enum: ['completed', 'failed', 'cancelled'] },
            returnCode: { type: 'integer' },
            summary: { type: 'string' },
          }),
        }),
      },
      ...(merge && { conflicts }),
    },
    ['conflicts'],
  );
}
