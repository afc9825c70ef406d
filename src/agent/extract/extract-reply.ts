import type { JsonObject } from '../../json.ts';
import { checkValue } from './check-value.ts';
import { faultOfLength, MAX_REASON_BYTES } from '../../cas/limits.ts';
import { splitFrontMatter } from './front-matter.ts';
import { parseFields } from './parse-fields.ts';

/** What a reply contains: its meta and its text, its mistakes, or a question for a person. */
export type Extraction =
  | { kind: 'ok'; meta: JsonObject; body: string }
  /** Sentences for the agent, which corrects its reply. */
  | { kind: 'invalid'; errors: readonly string[] }
  | { kind: 'suspend'; reason: string };

type Parts = { meta: JsonObject; body: string };

/** The `$status` by which any role suspends its thread, with a `reason`. */
const SUSPEND_STATUS = '$SUSPEND';

/**
 * Takes a reply apart into meta and text, and holds the meta against the role's schema.
 *
 * Reads the front matter as `splitFrontMatter` and `parseFields` describe, and never invents a value: nothing is
 * defaulted, converted or left out. A reply whose `$status` is `$SUSPEND` suspends, whatever the schema says.
 * @param text the reply: Markdown, with front matter unless `meta` is given
 * @param meta the structured part, where the agent reported it apart; `text` is the body then, as it is
 * @param clean removes from both parts what must not be stored; called before validation
 */
export async function extractReply(
  text: string,
  schema: JsonObject,
  meta?: JsonObject,
  clean: (meta: JsonObject, body: string) => Parts = (...[fields, body]) => ({ meta: fields, body }),
): Promise<Extraction> {
  if (meta !== undefined) return judge(clean(meta, text), schema);
  const split = splitFrontMatter(text);
  if (split.kind === 'missing') return { kind: 'invalid', errors: [split.error] };
  const parsed = await parseFields(split.yaml, split.firstLine);
  return parsed.kind === 'ok' ? judge(clean(parsed.fields, split.body), schema) : parsed;
}

async function judge({ meta, body }: Parts, schema: JsonObject): Promise<Extraction> {
  if (meta['$status'] === SUSPEND_STATUS) {
    const { reason } = meta;
    const fault = typeof reason === 'string' && faultOfLength('meta.reason', reason, MAX_REASON_BYTES);
    if (fault) return { kind: 'invalid', errors: [fault] };
    if (typeof reason === 'string' && reason.trim() !== '') return { kind: 'suspend', reason: reason.trim() };
    return { kind: 'invalid', errors: [`meta.reason must say what you need, with $status ${SUSPEND_STATUS}`] };
  }
  const tooLong = faultOfLength('the reply', body) ?? faultOfLength('meta', JSON.stringify(meta));
  if (tooLong !== undefined)
    return { kind: 'invalid', errors: [`${tooLong}: write what is longer to a file and name that`] };
  const errors = await checkValue(schema, meta, 'meta');
  return errors.length === 0 ? { kind: 'ok', meta, body } : { kind: 'invalid', errors };
}
