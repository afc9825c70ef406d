import { fieldWords } from '../extract/field-words.ts';
import { renderFields } from '../extract/render-fields.ts';
import { propertiesOf, schemaVariants } from '../extract/schema-variants.ts';
import type { AgentRequest } from '../contract.ts';
import type { JsonObject } from '../../json.ts';

const SCISSORS = '------------------------ >8 ------------------------';
const EXPLANATION = `${SCISSORS}
Everything from the line above on is left out. Write your reply before it; an empty reply, or one that
was not changed, suspends the thread until 'uwf thread resume'.
`;

/** The front matter to fill in: constants are set, required fields are empty, optional ones commented out. */
export function replyTemplate(schema: JsonObject): string {
  const variants = schemaVariants(schema);
  const [only] = variants;
  const constants = new Map(only !== undefined && variants.length === 1 ? propertiesOf(only) : []);
  const lines = fieldWords(variants).map(({ name, isRequired, need, words }) => {
    const constant = constants.get(name)?.['const'];
    if (isRequired && constant !== undefined) return renderFields({ [name]: constant });
    const comment = `# ${need}: ${words.replaceAll(/\s+/gu, ' ')}`;
    return `${isRequired ? '' : '# '}${name}: ${comment}\n`;
  });
  return `---\n${lines.join('')}---\n\n`;
}

/** The text of the file that a person edits: what they write, a line that ends it, and what they are told. */
export function replyFile(
  reply: string,
  { role, threadId, prompt }: Pick<AgentRequest, 'role' | 'threadId' | 'prompt'>,
): string {
  return `${reply}\n${EXPLANATION}\nYou are '${role}' of thread ${threadId}.\n\n${prompt}`;
}

/** What a person wrote: the file up to the line that ends it. */
export function replyInFile(file: string): string {
  const lines = file.split(/(?<=\n)/u);
  const end = lines.findIndex((line) => line.trim() === SCISSORS);
  return (end === -1 ? lines : lines.slice(0, end)).join('').trimEnd();
}
