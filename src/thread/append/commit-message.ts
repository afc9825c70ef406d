/** The trailers of a thread's commit message. An absent field has no line. */
export type Trailers = {
  node: string;
  type: string;
  role?: string;
  status?: string | null;
  agent?: string;
  tokens?: number;
  durationMs?: number;
};

/**
 * The longest body that a message contains whole, in bytes of UTF-8, and how much it contains of a longer one. The tree has
 * the whole text. A message is compressed by itself, so a whole reply would be stored twice.
 */
const MAX_BODY_BYTES = 512;
const KEPT_BODY_BYTES = 256;
const MAX_SUBJECT_CHARACTERS = 100;
/** The trailer that names the thread of a commit of the user's code. */
const CODE_TRAILER = 'Uwf-Thread';

/**
 * Writes the message of a thread's commit: a subject, the reply, and trailers as the last paragraph.
 *
 * It is for people: nothing is decided from it. Control characters other than tab and newline are removed. Lines of a reply
 * that look like trailers (`Uwf-…:`) are indented, so a reply cannot forge them.
 *
 * @param subject what happened, one line: `writer: A first draft`
 * @param body the reply, any length; of more than 512 bytes the first 256 are kept
 * @param bodyPath the file with the whole body, named if the body is cut
 */
export function commitMessage(subject: string, body: string, bodyPath: string, trailers: Trailers): string {
  const paragraphs = [shorten(clean(subject).replaceAll(/\s+/g, ' ').trim(), MAX_SUBJECT_CHARACTERS)];
  const text = clean(body).trim();
  if (text !== '') paragraphs.push(guard(cut(text, bodyPath)));
  paragraphs.push(trailerLines(trailers).join('\n'));
  return `${paragraphs.join('\n\n')}\n`;
}

/**
 * Writes the message of a commit of the user's code with the changes of a thread.
 *
 * @param prompt its first line is the subject
 * @param summary of an ended thread; `undefined` before
 */
export function codeMessage(thread: string, prompt: string, summary: string | undefined): string {
  const subject = shorten(clean(firstLine(prompt)).replaceAll(/\s+/g, ' ').trim(), MAX_SUBJECT_CHARACTERS);
  const body = guard(clean(summary ?? '').trim());
  const paragraphs = [subject || 'What a thread did', body, `${CODE_TRAILER}: ${thread}`];
  return `${paragraphs.filter((paragraph) => paragraph !== '').join('\n\n')}\n`;
}

/** The body of a message that {@link commitMessage} wrote: the reply, or its beginning. */
export function bodyOfMessage(message: string): string {
  return message.trimEnd().split('\n\n').slice(1, -1).join('\n\n');
}

/** The text of the trailer that names the commit's node; `undefined` if there is none. */
export function nodeOfMessage(message: string): string | undefined {
  return /^Uwf-Node: (.*)$/m.exec(lastParagraph(message))?.[1];
}

/**
 * Tells whether a commit can be the start of a thread, by its message: it says so, or it has no trailer with another type. A
 * commit of the user's code has none.
 */
export function mayBeStart(message: string): boolean {
  const type = /^Uwf-Type: (.*)$/m.exec(lastParagraph(message))?.[1];
  return type === undefined || type === 'thread-start';
}

function lastParagraph(message: string): string {
  return message.slice(message.lastIndexOf('\n\n') + 2);
}

/** The first line with a letter or digit, without Markdown's marks of headings and lists. */
export function firstLine(text: string): string {
  const line = text.split(/\r?\n/).find((candidate) => /[\p{L}\p{N}]/u.test(candidate)) ?? '';
  return line.replace(/^[\s#>*-]+/, '').trim();
}

function clean(text: string): string {
  return text.replaceAll(/\r\n?/g, '\n').replaceAll(/[^\P{Cc}\t\n]/gu, '');
}

/** Shortens a text that is longer than `limit` characters, with `…` at its end. */
export function shorten(text: string, limit: number): string {
  const characters = [...text];
  return characters.length <= limit ? text : `${characters.slice(0, limit - 1).join('')}…`;
}

function cut(text: string, path: string): string {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= MAX_BODY_BYTES) return text;
  // Removes a character and a word that were cut in half. Half a character decodes to U+FFFD.
  const kept = new TextDecoder()
    .decode(bytes.subarray(0, KEPT_BODY_BYTES))
    .replace(/\uFFFD+$/, '')
    .replace(/(?<=\s)\S{1,40}$/, '');
  return `${kept.trimEnd()}\n\n[cut here: ${path} has all ${bytes.length} bytes]`;
}

function guard(text: string): string {
  return text.replaceAll(/^(?=\s*uwf-[\w-]*\s*:)/gim, '    ');
}

/** Writes the trailers, a line each, in their order. */
export function trailerLines(trailers: Trailers): string[] {
  const oneLine = (value: string): string => clean(value).replaceAll(/\s+/g, ' ').trim();
  const lines = [`Uwf-Node: ${trailers.node}`, `Uwf-Type: ${trailers.type}`];
  if (trailers.role !== undefined) lines.push(`Uwf-Role: ${oneLine(trailers.role)}`);
  if (trailers.status) lines.push(`Uwf-Status: ${oneLine(trailers.status)}`);
  if (trailers.agent !== undefined) lines.push(`Uwf-Agent: ${oneLine(trailers.agent)}`);
  if (trailers.tokens !== undefined) lines.push(`Uwf-Tokens: ${trailers.tokens}`);
  if (trailers.durationMs !== undefined) lines.push(`Uwf-Duration: ${(trailers.durationMs / 1000).toFixed(1)}s`);
  return lines;
}
