import type { JsonObject } from '../../json.ts';
import { checkValue } from './check-value.ts';
import { fieldWords } from './field-words.ts';
import { renderFields } from './render-fields.ts';
import { sampleValue } from './sample-value.ts';
import { schemaVariants } from './schema-variants.ts';
import { isJsonObject } from '../../json.ts';

const BODY = 'What you have to say, in Markdown.\n';

/**
 * Writes for an agent how its reply has to look: the fields of the front matter, and one worked example for each variant
 * of the schema.
 *
 * Every example satisfies the schema. A variant for which none could be made (a `pattern`, a condition) has its fields
 * described and no example.
 */
export async function formatInstruction(schema: JsonObject): Promise<string> {
  const fields = fieldWords(schemaVariants(schema)).map(({ name, need, words }) => `- ${name} (${need}): ${words}\n`);
  const examples = await exampleReplies(schema);
  const parts = [
    'Begin your reply with front matter: a line ---, the fields as YAML, a line ---. Then comes your text, in Markdown.\n' +
      "Put a value into double quotes where it holds ': ' or ' #'.\n",
    fields.length === 0 ? '' : `Fields:\n\n${fields.join('')}`,
    ...examples.map((example, index) => `${index === 0 ? 'Example:' : 'Or:'}\n\n${example}`),
    'If you cannot go on without an answer from a person:\n\n' +
      '---\n$status: $SUSPEND\nreason: what you need to know\n---\n',
  ];
  return parts.filter((part) => part !== '').join('\n');
}

/** A reply for each variant of a schema that it accepts; for `formatInstruction` and for trying agents out. */
export async function exampleReplies(schema: JsonObject): Promise<string[]> {
  const replies = new Set<string>();
  for (const variant of schemaVariants(schema)) {
    const meta = await exampleOf(variant, schema);
    if (meta !== undefined) replies.add(`---\n${renderFields(meta)}---\n${BODY}`);
  }
  return [...replies];
}

async function exampleOf(variant: JsonObject, schema: JsonObject): Promise<JsonObject | undefined> {
  for (const extent of ['required', 'all'] as const) {
    const sample = sampleValue({ type: 'object', ...variant }, schema, extent);
    // A reply without any field shows nothing, where the schema knows some.
    if (!isJsonObject(sample) || (extent === 'required' && Object.keys(sample).length === 0)) continue;
    if ((await checkValue(schema, sample, 'meta')).length === 0) return sample;
  }
  return undefined;
}
