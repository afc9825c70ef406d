import type { Document, YAMLError } from 'yaml';
import type { Diagnostic } from '../diagnostic.ts';
import type { SourceText } from './source-text.ts';

/** What the YAML library calls a mistake, and what its author probably meant. */
const hints: Readonly<Record<string, string>> = {
  TAB_AS_INDENT: 'indent with spaces',
  BAD_SCALAR_START: 'put the text in double quotes',
  BLOCK_AS_IMPLICIT_KEY: "a text with ': ' in it needs quotes",
  BAD_INDENT: 'line it up with its neighbours',
  MULTIPLE_DOCS: 'a workflow file holds one document; remove what follows `---`',
};

/** Mistakes that leave the rest of the document as its author meant it. */
const harmless: ReadonlySet<string> = new Set(['DUPLICATE_KEY']);

/**
 * Says what is wrong with the notation of a file: every key that stands twice, or what breaks it. Of what breaks it that is
 * each line with a quote inside a quoted text, else the first mistake: what the parser finds behind it follows from it.
 */
export function yamlMistakes(
  document: Document.Parsed,
  source: SourceText,
): { found: Diagnostic[]; isBroken: boolean } {
  const broken = document.errors.filter(({ code }) => !harmless.has(code)).toSorted((a, b) => a.pos[0] - b.pos[0]);
  const [first] = broken;
  if (first === undefined) {
    return {
      found: [...document.errors, ...document.warnings].map((error) => diagnosticOf(error, source)),
      isBroken: false,
    };
  }
  const lines = new Set(broken.map(({ pos: [start] }) => source.place(start).line));
  const quotes = [...lines].flatMap((line) => findNestedQuote(line, source) ?? []);
  return { found: quotes.length > 0 ? quotes : [diagnosticOf(first, source)], isBroken: true };
}

function diagnosticOf(error: YAMLError, source: SourceText): Diagnostic {
  const {
    message,
    pos: [start, end],
  } = error;
  const hint = hints[error.code];
  return {
    severity: 'error',
    code: error.code === 'DUPLICATE_KEY' ? 'duplicate-key' : 'yaml-syntax',
    message:
      error.code === 'DUPLICATE_KEY'
        ? 'this key stands here twice'
        : message.charAt(0).toLowerCase() + message.slice(1),
    ...source.place(start, Math.max(end, start + 1)),
    path: '',
    ...(hint === undefined ? {} : { hint }),
  };
}

/** A quoted text on one line, up to the quote that ends it, and what stands behind that. */
const quoted = /(?<=^\s*|[:,[{?-]\s*)(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')(?=\s*([^\s,}\]:#])?)/gu;

function findNestedQuote(line: number, source: SourceText): Diagnostic | undefined {
  for (const { 0: text, 1: behind, index } of (source.line(line) ?? '').matchAll(quoted)) {
    if (behind === undefined) continue;
    const start = source.lineStart(line) + index + text.length - 1;
    const [mark, other, inside] = text.startsWith('"') ? ['"', "'", '\\"'] : ["'", '"', "''"];
    return {
      severity: 'error',
      code: 'yaml-syntax',
      message: `this ${mark} ends the text that began with ${mark}`,
      ...source.place(start, start + 1),
      path: '',
      hint: `inside ${mark}…${mark} write it as ${inside}, or put the text in ${other}…${other}`,
    };
  }
  return undefined;
}
