import type { JsonObject } from '../../json.ts';
import { fieldWords } from '../extract/field-words.ts';
import { renderFields } from '../extract/render-fields.ts';
import { propertiesOf, schemaVariants } from '../extract/schema-variants.ts';

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
