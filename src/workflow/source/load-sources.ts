import type * as Yaml from 'yaml';
import type { Node, Document, Scalar, YAMLError } from 'yaml';
import { messageOf, UwfError } from '../../errors.ts';
import { notationError, type Diagnostic } from '../diagnostics/diagnostic.ts';
import { SourceUnreadable, type SourceReader } from './source-reader.ts';
import { SourceText } from './source-map.ts';

/** A file with all that it includes, read and parsed. */
export type LoadedSources = {
  root: ParsedFile;
  /** The file of each `!include` node; a broken include is absent. */
  included: ReadonlyMap<Node, ParsedFile>;
  sources: ReadonlyMap<string, SourceText>;
  diagnostics: Diagnostic[];
};

/** Includes in one workflow, at any depth. */
const MAX_INCLUDES = 200;
/** Characters of YAML and JSON in all files of a workflow. Parsing hostile YAML takes a thousand times as much memory. */
const MAX_SOURCE = 128 * 1024;
/** Characters in all files of a workflow. */
const MAX_TEXT = 1024 * 1024;

/**
 * Reads a file and everything it includes, each file once.
 *
 * A broken include, or a circular one, is a diagnostic at the place of its `!include`.
 * @throws {SourceUnreadable} if the file itself cannot be read
 */
export async function loadSources(file: string, reader: SourceReader): Promise<LoadedSources> {
  const files = new Map<string, ParsedFile>();
  const included = new Map<Node, ParsedFile>();
  const diagnostics: Diagnostic[] = [];
  let count = 0;
  let source = 0;
  let text = 0;

  async function read(name: string, isSource: boolean): Promise<string> {
    const content = await reader.read(name);
    text += content.length;
    if (isSource) source += content.length;
    if (source <= MAX_SOURCE && text <= MAX_TEXT) return content;
    const [limit, what] = source > MAX_SOURCE ? [MAX_SOURCE, ' of YAML or JSON'] : [MAX_TEXT, ''];
    throw new SourceUnreadable(`'${name}'`, `makes more than ${limit} characters${what} in this workflow`, {
      hint: 'a workflow is written by hand; keep long texts in files that agents read themselves',
    });
  }

  async function load(name: string, chain: readonly string[]): Promise<ParsedFile> {
    const known = files.get(name);
    if (known !== undefined) return known;
    const isWorkflow = chain.length === 0;
    const parsed = await parseFile(name, await read(name, isWorkflow || isStructured(name)), isWorkflow);
    files.set(name, parsed);
    diagnostics.push(...parsed.diagnostics);
    for (const { node, reference } of parsed.includes) {
      const complain = (code: string, message: string, hint?: string): void => {
        const [start, , end] = node.range ?? [0, 0, 1];
        const place = parsed.source.place(start, Math.min(end, start + reference.length));
        diagnostics.push(notationError(code, message, place, hint));
      };
      try {
        const target = await reader.resolve(name, reference);
        count += 1;
        if (target === name || chain.includes(target)) {
          complain('include-cycle', `!include comes back to ${target}`, [...chain, name, target].join(' includes '));
        } else if (count > MAX_INCLUDES) {
          complain('include-limit', `more than ${MAX_INCLUDES} includes`);
          return parsed;
        } else {
          included.set(node, await load(target, [...chain, name]));
        }
      } catch (error) {
        if (!(error instanceof UwfError)) throw error;
        complain('include-failed', `!include: ${error.message}`, error.hint);
      }
    }
    return parsed;
  }

  const root = await load(file, []);
  const sources = new Map([...files].map(([name, parsed]) => [name, parsed.source]));
  return { root, included, sources, diagnostics };
}

/** One file as the YAML parser reads it. */
export type ParsedFile = {
  source: SourceText;
  /** `undefined` for a text (`.md`, `.txt` …) and for a file with errors that leave it without a value. */
  document: Document.Parsed | undefined;
  /** The value of a text; `undefined` for YAML and JSON. */
  text: string | undefined;
  /** The `!include`s in it: the node and the name it holds. */
  includes: { node: Scalar; reference: string }[];
  diagnostics: Diagnostic[];
};

/**
 * Parses one file: `.yaml`, `.yml` as YAML 1.2, `.json` as JSON, anything else as text.
 *
 * JSON is read twice: by the YAML parser, for the places, and by `JSON.parse`, which accepts only JSON.
 * @param isWorkflow whether it is YAML whatever its name: a workflow need not have an extension
 */
async function parseFile(file: string, content: string, isWorkflow: boolean): Promise<ParsedFile> {
  const source = new SourceText(file, content.startsWith('\uFEFF') ? content.slice(1) : content);
  const parsed: ParsedFile = { source, document: undefined, text: undefined, includes: [], diagnostics: [] };
  if (!isWorkflow && !isStructured(file)) return { ...parsed, text: source.text };

  const found = file.endsWith('.json') ? findJsonMistake(source) : undefined;
  if (found !== undefined) return { ...parsed, diagnostics: [found] };

  const yaml = await import('yaml');
  const document = parseYaml(yaml, source);
  if (!('errors' in document)) return { ...parsed, diagnostics: [document] };
  const { found: mistakes, isBroken } = yamlMistakes(document, source);
  parsed.diagnostics.push(...mistakes);
  if (isBroken) return parsed;
  yaml.visit(document, {
    Scalar(_key, node) {
      if (node.tag === '!include') parsed.includes.push({ node, reference: String(node.value) });
    },
  });
  return { ...parsed, document };
}

/** Whether a file is YAML or JSON by its name, and no text. */
function isStructured(file: string): boolean {
  return /\.(?:ya?ml|json)$/.test(file);
}

function parseYaml(yaml: typeof Yaml, source: SourceText): Document.Parsed | Diagnostic {
  try {
    return yaml.parseDocument(source.text, {
      version: '1.2',
      schema: 'core',
      prettyErrors: false,
      logLevel: 'error',
      customTags: [{ tag: '!include', resolve: (text: string) => text }],
    });
  } catch (error) {
    // The parser recurses: a file of ten thousand opening brackets ends in a RangeError.
    const message = error instanceof RangeError ? 'nested too deeply' : String(error);
    return notationError('yaml-syntax', message, source.place(0));
  }
}

function findJsonMistake(source: SourceText): Diagnostic | undefined {
  try {
    JSON.parse(source.text);
    return undefined;
  } catch (error) {
    const text = messageOf(error);
    const offset = /at position (\d+)/.exec(text)?.[1];
    const place = source.place(offset === undefined ? source.text.trimEnd().length - 1 : Number(offset));
    return notationError('json-syntax', `not JSON: ${text.replace(/ in JSON at position.*$/s, '')}`, place);
  }
}

/** Hints for some errors, by the code that the YAML library gives them. */
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
 * Reports the mistakes in the notation of a file: every duplicate key, or, if the file cannot be read on, the mistakes that
 * break it. These are all lines with a quote inside a quoted text, else the first mistake: later ones follow from it.
 */
function yamlMistakes(document: Document.Parsed, source: SourceText): { found: Diagnostic[]; isBroken: boolean } {
  const broken = document.errors.filter(({ code }) => !harmless.has(code)).toSorted((a, b) => a.pos[0] - b.pos[0]);
  const [first] = broken;
  if (first === undefined) {
    const found = [...document.errors, ...document.warnings].map((error) => diagnosticOf(error, source));
    return { found, isBroken: false };
  }
  const lines = new Set(broken.map(({ pos: [start] }) => source.place(start).line));
  const quotes = [...lines].flatMap((line) => findNestedQuote(line, source) ?? []);
  return { found: quotes.length > 0 ? quotes : [diagnosticOf(first, source)], isBroken: true };
}

function diagnosticOf({ code, message, pos: [start, end] }: YAMLError, source: SourceText): Diagnostic {
  const place = source.place(start, Math.max(end, start + 1));
  if (code === 'DUPLICATE_KEY') return notationError('duplicate-key', 'this key stands here twice', place);
  return notationError('yaml-syntax', message.charAt(0).toLowerCase() + message.slice(1), place, hints[code]);
}

/** A quoted text on one line, and the character after its closing quote that must not be there. */
const quoted = /(?<=^\s*|[:,[{?-]\s*)(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')(?=\s*([^\s,}\]:#])?)/gu;

function findNestedQuote(line: number, source: SourceText): Diagnostic | undefined {
  for (const { 0: text, 1: behind, index } of (source.line(line) ?? '').matchAll(quoted)) {
    if (behind === undefined) continue;
    const start = source.lineStart(line) + index + text.length - 1;
    const [mark, other, inside] = text.startsWith('"') ? ['"', "'", '\\"'] : ["'", '"', "''"];
    const hint = `inside ${mark}…${mark} write it as ${inside}, or put the text in ${other}…${other}`;
    const message = `this ${mark} ends the text that began with ${mark}`;
    return notationError('yaml-syntax', message, source.place(start, start + 1), hint);
  }
  return undefined;
}
