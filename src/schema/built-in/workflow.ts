import type { NodeHash } from '../../cas/hash.ts';
import type { JsonObject } from '../../json.ts';
import { threadLimitsSchema, type ThreadLimits } from './limits.ts';
import { anyObject, anyText, builtInObject, closedObject, isolation, mapOf, ref, word } from './schema-parts.ts';
import type { Isolation } from './schema-parts.ts';

/** A rule of the moderator; the first whose `from` is the last role and whose `when` holds decides. */
export type Rule = {
  /** A role, `__start__` or `__resume__`. */
  from: string;
  /** A role or `__end__`. */
  to: string;
  /** JSONata; null always holds. */
  when: string | null;
  /** A Liquid template: what the next role is told, or the summary on a rule to `__end__`. */
  prompt?: string;
  /** A Liquid template: where the next role works. */
  location?: string;
  /** Only on a rule to `__end__`: 0 or absent is success. */
  returnCode?: number;
  /** The rule decides only where a limit keeps the role from running that the others give the turn to. */
  on?: 'limit';
};

/** A workflow's definition, whatever notation it was written in. */
export type Workflow = {
  name: string;
  description: string;
  /** Each role's name and its {@link Role} node. */
  roles: Record<string, NodeHash>;
  /** In the order in which they are tried. */
  moderator: Rule[];
  limits?: ThreadLimits;
  /** By names that no role has. Its form is not fixed by this schema; the link `schema` leads to that of its meta. */
  blocks?: Record<string, JsonObject>;
  /** Whether threads have a work tree of their own; absent: where the caller asks for it. */
  isolation?: Isolation;
};

export const workflowSchema: JsonObject = builtInObject(
  'workflow',
  'Roles, and the rules by which a moderator hands the work from one to the next.',
  {
    name: { type: 'string', pattern: '^[a-z0-9][a-z0-9._-]{0,63}$' },
    description: anyText,
    roles: mapOf(ref('role')),
    moderator: {
      type: 'array',
      items: closedObject(
        {
          from: word,
          to: word,
          when: { type: ['string', 'null'], minLength: 1 },
          prompt: anyText,
          location: anyText,
          returnCode: { type: 'integer', minimum: 0, maximum: 255 },
          on: { enum: ['limit'] },
        },
        ['prompt', 'location', 'returnCode', 'on'],
      ),
    },
    limits: threadLimitsSchema,
    blocks: { ...mapOf(anyObject), minProperties: 1 },
    isolation,
  },
  ['limits', 'blocks', 'isolation'],
);
