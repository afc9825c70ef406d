import { isJsonObject } from '../../../json.ts';

/**
 * Makes a text for the model of what a server answered: texts as they are, a link with all that leads to it, what a resource
 * has in it. Of what is no text only the kind and the size are told.
 * @see https://modelcontextprotocol.io/specification/2025-06-18/server/tools#tool-result
 */
export function textOfContent(parts: unknown): string {
  return Array.isArray(parts) ? parts.map(textOfPart).join('\n') : '';
}

function textOfPart(part: unknown): string {
  if (!isJsonObject(part)) return '';
  const { type, text, resource, data } = part;
  if (type === 'resource_link')
    return `[link ${wordsOf(part, ['uri', 'name', 'title', 'description', 'mimeType', 'size'])}]`;
  if (type === 'resource' && isJsonObject(resource)) return textOfResource(resource);
  if (typeof text === 'string') return text;
  return `[${JSON.stringify(type)} ${wordsOf(part, ['mimeType'])}${sizeOf(data)}, which is not shown here]`;
}

/** Makes a text of a resource: where it is, and its content. */
function textOfResource(resource: { [key: string]: unknown }): string {
  const { text, blob } = resource;
  const where = `[resource ${wordsOf(resource, ['uri', 'mimeType'])}`;
  return typeof text === 'string' ? `${where}]\n${text}` : `${where}${sizeOf(blob)}, which is not shown here]`;
}

function wordsOf(values: { [key: string]: unknown }, names: readonly string[]): string {
  return names
    .flatMap((name) => (values[name] === undefined ? [] : `${name}=${JSON.stringify(values[name])}`))
    .join(' ');
}

function sizeOf(base64: unknown): string {
  return typeof base64 === 'string' ? ` ${Buffer.byteLength(base64, 'base64')} bytes` : '';
}
