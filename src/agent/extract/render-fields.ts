import type { JsonObject, JsonValue } from '../../json.ts';

/**
 * Writes fields as YAML front matter, the lines `---` left out; each line with its end.
 *
 * Lists and objects inside are written as JSON, which YAML 1.2 reads as well. YAML reads back the very same values.
 */
export function renderFields(fields: JsonObject): string {
  return Object.entries(fields)
    .map(([name, value]) => `${renderText(name)}: ${renderValue(value)}\n`)
    .join('');
}

function renderValue(value: JsonValue): string {
  return typeof value === 'string' ? renderText(value) : JSON.stringify(value);
}

/** Only words that nothing else in YAML looks like go without quotes. */
function renderText(text: string): string {
  const isPlain = /^[A-Za-z_$][\w$]*(?:[ ./-][\w$]+)*$/u.test(text) && !/^(?:true|false|null)$/iu.test(text);
  return isPlain ? text : JSON.stringify(text);
}
