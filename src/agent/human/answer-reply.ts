import type { JsonObject } from '../../json.ts';
import { splitFrontMatter } from '../extract/front-matter.ts';
import { propertiesOf, requiredOf, schemaVariants } from '../extract/schema-variants.ts';

/**
 * Makes a reply of what a person answered.
 *
 * - An answer with front matter is the reply.
 * - Where the role's schema needs nothing but constants (or nothing at all), any answer is the reply's text.
 * - Where `$status` has several values that need no other field, the answer's first line may be one of them; the rest
 *   is the text: `approved`, or `rejected` and the reasons below it.
 *
 * Anything else goes on as it is, to be refused in words: a field that is missing is never made up.
 */
export function replyOfAnswer(answer: string, schema: JsonObject): { text: string; meta?: JsonObject } {
  if (splitFrontMatter(answer).kind === 'found') return { text: answer };
  const variants = schemaVariants(schema);
  const [only] = variants;
  if (only !== undefined && variants.length === 1) {
    const meta = constantMeta(only);
    return meta === undefined ? { text: answer } : { text: answer, meta };
  }
  const [, firstLine = '', rest = ''] = /^\s*(.*?)[ \t]*(?:\r?\n(?:[ \t]*\r?\n)*([^]*))?$/u.exec(answer) ?? [];
  for (const meta of answerableMetas(schema)) {
    if (meta['$status'] === firstLine) return { text: rest, meta };
  }
  return { text: answer };
}

/** The `$status` values that a person may answer with a single word. */
export function answerableStatuses(schema: JsonObject): string[] {
  return answerableMetas(schema).flatMap(({ $status }) => (typeof $status === 'string' ? [$status] : []));
}

function answerableMetas(schema: JsonObject): JsonObject[] {
  return schemaVariants(schema)
    .map(constantMeta)
    .filter((meta) => meta !== undefined);
}

/** The meta of a variant whose required fields are all constants; `undefined` where something is left to be said. */
function constantMeta(variant: JsonObject): JsonObject | undefined {
  const properties = new Map(propertiesOf(variant));
  const meta: JsonObject = {};
  for (const name of requiredOf(variant)) {
    const constant = properties.get(name)?.['const'];
    if (constant === undefined) return undefined;
    meta[name] = constant;
  }
  return meta;
}
