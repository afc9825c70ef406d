import type { Redaction } from './redaction.ts';

/** Less of a secret tells nothing. */
const SHORTEST_PART = 8;

/** A commit's message without secrets, and without what a cut has left of one. @param secrets those of the commit's texts */
export function cleanMessage(message: string, redaction: Redaction, secrets: Iterable<string>): string {
  let text = redaction.text(message);
  for (const secret of secrets) {
    for (let length = secret.length - 1; length >= SHORTEST_PART; length -= 1) {
      const part = secret.slice(0, length);
      if (!text.includes(part)) continue;
      text = text.replaceAll(part, redaction.text(secret));
      break;
    }
  }
  return text;
}

/** A message with other trailers, which are its last paragraph. */
export function withTrailers(message: string, trailers: readonly string[]): string {
  const paragraphs = message.trimEnd().split('\n\n');
  return `${[...paragraphs.slice(0, -1), trailers.join('\n')].join('\n\n')}\n`;
}
