/** A reply cut in two, or why it cannot be. */
export type SplitReply =
  | { kind: 'found'; yaml: string; firstLine: number; body: string }
  | { kind: 'missing'; error: string };

type Line = { text: string; start: number; end: number };

const MISSING =
  'missing front matter: begin your reply with a line ---, then the fields as YAML, then a line ---, then your text';
const UNCLOSED = 'the front matter is not closed: after its last field put a line --- of its own';
/** A sentence before the front matter is tolerated, an essay is not. */
const MAX_SENTENCE_CHARACTERS = 1000;

/**
 * Finds the front matter of a reply and the text that follows it.
 *
 * Tolerated, because models do it: a byte order mark, blank lines, one leading sentence, a code fence around all or
 * around the front matter alone (a `yaml` fence may stand for the lines `---`), CRLF, white space after `---`. The
 * sentence and the fences are dropped; the body is otherwise as it was written, from its first line that is not blank.
 *
 * After a sentence the fields have to follow `---` at once: elsewhere in a text it is a rule or underlines a heading.
 */
export function splitFrontMatter(reply: string): SplitReply {
  const lines = linesOf(reply);
  const begin = skipBlank(lines, 0);
  const atOnce = openingAt(lines, begin);
  const opening = atOnce ?? openingAt(lines, skipBlank(lines, skipSentence(lines, begin)));
  if (opening === undefined) return { kind: 'missing', error: MISSING };
  if (atOnce === undefined && !looksLikeField(lines[opening.fields]?.text)) return { kind: 'missing', error: MISSING };

  const closing = lines.findIndex((line, at) => at >= opening.fields && opening.isClosing(line.text));
  if (closing === -1) return { kind: 'missing', error: atOnce === undefined ? MISSING : UNCLOSED };
  return {
    kind: 'found',
    yaml: reply.slice(startOf(lines, opening.fields), startOf(lines, closing)),
    firstLine: opening.fields + 1,
    body: bodyAfter(reply, lines, closing + 1, opening.fence),
  };
}

type Opening = { fields: number; fence: string | undefined; isClosing: (line: string) => boolean };

/** Tells whether front matter begins at a line: `---`, a fence with `---` in it, or a `yaml` fence. */
function openingAt(lines: readonly Line[], index: number): Opening | undefined {
  const text = lines[index]?.text;
  if (text === undefined) return undefined;
  if (isDashes(text)) return { fields: index + 1, fence: undefined, isClosing: isDashes };
  const [, fence, language] = /^ {0,3}(`{3,}|~{3,})[ \t]*([\w-]*)[ \t]*$/u.exec(text) ?? [];
  if (fence === undefined) return undefined;
  const inside = skipBlank(lines, index + 1);
  if (isDashes(lines[inside]?.text)) return { fields: inside + 1, fence, isClosing: isDashes };
  if (language !== 'yaml' && language !== 'yml') return undefined;
  return { fields: index + 1, fence: undefined, isClosing: (line) => closesFence(line, fence) };
}

function bodyAfter(reply: string, lines: readonly Line[], index: number, fence: string | undefined): string {
  const first = skipBlank(lines, index);
  if (fence === undefined) return reply.slice(startOf(lines, first));
  if (closesFence(lines[first]?.text ?? '', fence)) return reply.slice(startOf(lines, skipBlank(lines, first + 1)));
  // The fence is around all. Fences of the text itself come in pairs; one too many is the outer one's end.
  const kind = fence.charAt(0);
  const fences = lines.flatMap(({ text }, at) =>
    at >= first && text.trimStart().startsWith(kind.repeat(3)) ? [at] : [],
  );
  const last = fences.findLast((at) => closesFence(lines[at]?.text ?? '', fence));
  if (fences.length % 2 === 0 || last === undefined) return reply.slice(startOf(lines, first));
  return reply.slice(startOf(lines, first), startOf(lines, last)) + reply.slice(startOf(lines, last + 1));
}

function skipSentence(lines: readonly Line[], index: number): number {
  let end = index;
  let characters = 0;
  for (; end < lines.length; end++) {
    const text = lines[end]?.text ?? '';
    characters += text.length;
    if (isBlank(text) || openingAt(lines, end) !== undefined) break;
    if (characters > MAX_SENTENCE_CHARACTERS) return index;
  }
  return end;
}

function skipBlank(lines: readonly Line[], index: number): number {
  let next = index;
  while (next < lines.length && isBlank(lines[next]?.text ?? '')) next += 1;
  return next;
}

/** The lines without their ends; `start` and `end` are offsets into the reply, `end` beyond the line's end. */
function linesOf(reply: string): Line[] {
  const lines: Line[] = [];
  for (let start = reply.startsWith('\uFEFF') ? 1 : 0; start < reply.length;) {
    const newline = reply.indexOf('\n', start);
    const end = newline === -1 ? reply.length : newline + 1;
    lines.push({ text: reply.slice(start, end).replace(/\r?\n$/u, ''), start, end });
    start = end;
  }
  return lines;
}

function startOf(lines: readonly Line[], index: number): number {
  return lines[index]?.start ?? lines.at(-1)?.end ?? 0;
}

function isBlank(text: string): boolean {
  return text.trim() === '';
}

function isDashes(text: string | undefined): boolean {
  return text !== undefined && /^---[ \t]*$/u.test(text);
}

function closesFence(text: string, fence: string): boolean {
  const trimmed = text.trim();
  return trimmed.length >= fence.length && trimmed === fence.charAt(0).repeat(trimmed.length);
}

function looksLikeField(text: string | undefined): boolean {
  return text !== undefined && /^["']?[\w$.-]+["']?[ \t]*:([ \t]|$)/u.test(text);
}
