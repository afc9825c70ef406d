import { dirname, isAbsolute, join } from 'node:path';
import type * as Yaml from 'yaml';
import type { Alias, Document, Node, Pair, Scalar, YAMLError, YAMLMap } from 'yaml';
import { messageOf, UwfError } from '../../errors.ts';
import { readFileInside } from '../../git/repository/git-directory.ts';
import { FileRefused } from '../../git/system/files.ts';
import { type JsonObject, type JsonValue, setMember } from '../../json.ts';
import { type Diagnostic, notationError, type Path, Report, SourceMap, SourceText } from './source-map.ts';

/** The most values with all aliases expanded. Nested anchors can multiply without bound ("billion laughs"). */
const MAX_VALUES = 100_000;
const MAX_DEPTH = 100;

/** Ends the reading of a document that has grown too large. */
class TooLarge extends Error {}

type Context = {
  yaml: typeof Yaml;
  loaded: LoadedSources;
  map: SourceMap;
  report: Report;
  /** The node that each alias names, by the order of the document. */
  targets: Map<Alias, Node>;
  /** The collections that are being written out, to find an anchor that contains itself. */
  open: Set<Node>;
  count: number;
};

/**
 * Turns parsed YAML into a JSON value: aliases, merges (`<<`) and includes written out, the place of each key and value noted.
 *
 * `undefined` if there is no value. What JSON cannot represent (`.nan`, keys that are no text) is reported and left out.
 */
async function readValues(loaded: LoadedSources, map: SourceMap, report: Report): Promise<JsonValue | undefined> {
  const yaml = await import('yaml');
  const context: Context = { yaml, loaded, map, report, targets: new Map(), open: new Set(), count: 0 };
  for (const file of [loaded.root, ...loaded.included.values()]) findTargets(context, file);
  try {
    return readFile(context, loaded.root, []);
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error;
    report.error('too-large', [], error.message, { hint: 'look for anchors that repeat anchors' });
    return undefined;
  }
}

function findTargets({ yaml, targets }: Context, { document }: ParsedFile): void {
  if (document === undefined) return;
  const anchors = new Map<string, Node>();
  yaml.visit(document, {
    Node(_key, node) {
      if (yaml.isAlias(node)) {
        const target = anchors.get(node.source);
        if (target !== undefined) targets.set(node, target);
      } else if (node.anchor !== undefined) anchors.set(node.anchor, node);
    },
  });
}

function readFile(context: Context, file: ParsedFile, path: Path): JsonValue | undefined {
  if (file.text !== undefined) {
    context.map.setValue(path, file.source, 0, file.text.length, { kind: 'verbatim', start: 0 });
    return file.text;
  }
  return file.document === undefined ? undefined : readNode(context, file, file.document.contents, path);
}

function readNode(context: Context, file: ParsedFile, node: unknown, path: Path): JsonValue | undefined {
  const { yaml, map } = context;
  context.count += 1;
  if (context.count > MAX_VALUES)
    throw new TooLarge(`holds more than ${MAX_VALUES} values once its aliases are written out`);
  if (path.length > MAX_DEPTH) throw new TooLarge(`is nested more than ${MAX_DEPTH} deep`);
  if (!yaml.isNode(node)) return null;
  if (yaml.isAlias(node)) return readAlias(context, file, node, path);
  const included = context.loaded.included.get(node);
  if (included !== undefined) return readFile(context, included, path);
  if (yaml.isScalar(node)) {
    recordScalar(map, file.source, node, path);
    return readScalar(context, node, path);
  }
  const [start, end] = node.range ?? [0, 0];
  map.setValue(path, file.source, start, end);
  context.open.add(node);
  const value = yaml.isMap(node)
    ? readMap(context, file, node, path)
    : node.items.map((item, index) => readNode(context, file, item, [...path, index]) ?? null);
  context.open.delete(node);
  return value;
}

function readAlias(context: Context, file: ParsedFile, alias: Alias, path: Path): JsonValue | undefined {
  const { report, targets } = context;
  const target = targets.get(alias);
  if (target === undefined) {
    report.error('unknown-alias', path, `there is no anchor &${alias.source} before *${alias.source}`);
    return undefined;
  }
  if (context.open.has(target)) {
    report.error('alias-cycle', path, `*${alias.source} stands inside what it names`);
    return undefined;
  }
  return readNode(context, file, target, path);
}

function readScalar({ report }: Context, node: Scalar, path: Path): JsonValue | undefined {
  // The included file could not be read, which has been reported.
  if (node.tag === '!include') return undefined;
  const { value } = node;
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  report.error('not-json', path, `${node.source ?? 'this'} is nothing that JSON can carry`);
  return undefined;
}

function readMap(context: Context, file: ParsedFile, node: YAMLMap, path: Path): JsonObject {
  const result: JsonObject = {};
  const own = new Set(node.items.map((pair) => keyText(context, pair)));
  const add = (pair: Pair, isMerged: boolean): void => {
    const key = keyText(context, pair);
    if (isMerge(context, pair)) {
      for (const merged of mergedPairs(context, pair, path)) add(merged, true);
    } else if (key === undefined) {
      const hint = 'a value that begins with {{ needs quotes around it';
      if (!isMerged) context.report.error('bad-key', path, 'a key must be a text', { hint });
    } else if (!isMerged || (!own.has(key) && !Object.hasOwn(result, key))) {
      setKeyPlace(context, file, pair, [...path, key]);
      const value = readNode(context, file, pair.value, [...path, key]);
      if (value !== undefined) setMember(result, key, value);
    }
  };
  for (const pair of node.items) add(pair, false);
  return result;
}

/** Source: the merge key of YAML 1.1 (yaml.org/type/merge.html), which 1.2 dropped and authors still use. */
function mergedPairs({ yaml, report, targets, open }: Context, pair: Pair, path: Path): Pair[] {
  const list: unknown[] = yaml.isSeq(pair.value) ? pair.value.items : [pair.value];
  return list.flatMap((item) => {
    const node = yaml.isAlias(item) ? targets.get(item) : item;
    if (!yaml.isMap(node)) report.error('bad-merge', path, '<< takes a map, or a list of maps');
    else if (open.has(node)) report.error('alias-cycle', path, '<< merges a map into itself');
    else return node.items;
    return [];
  });
}

function isMerge({ yaml }: Context, pair: Pair): boolean {
  return yaml.isScalar(pair.key) && pair.key.value === '<<' && pair.key.type === 'PLAIN';
}

function keyText({ yaml, targets }: Context, pair: Pair): string | undefined {
  const key = yaml.isAlias(pair.key) ? targets.get(pair.key) : pair.key;
  if (!yaml.isScalar(key) || key.value === null) return undefined;
  return typeof key.value === 'string' ? key.value : key.source;
}

function setKeyPlace({ yaml, map }: Context, file: ParsedFile, pair: Pair, path: Path): void {
  if (!yaml.isNode(pair.key)) return;
  const [start, end] = pair.key.range ?? [0, 0];
  map.setKey(path, file.source, start, end);
}

/**
 * Records the place of a scalar and, for a text, of its characters, so that a diagnostic can point into an expression or a
 * template.
 *
 * For a text that differs from the characters of the file (escapes, folded lines) only the beginning is recorded.
 */
function recordScalar(map: SourceMap, source: SourceText, node: Scalar, path: Path): void {
  const [start, end] = node.range ?? [0, 0];
  const { type, value } = node;
  const quote = type === 'QUOTE_DOUBLE' || type === 'QUOTE_SINGLE' ? 1 : 0;
  if (typeof value === 'string' && type === 'BLOCK_LITERAL') {
    const firstLine = source.place(start).line + 1;
    const indent = indentOf(source, firstLine, value);
    map.setValue(path, source, source.lineStart(firstLine), end, { kind: 'block', firstLine, indent });
  } else if (typeof value === 'string' && source.text.startsWith(value, start + quote)) {
    map.setValue(path, source, start, end, { kind: 'verbatim', start: start + quote });
  } else map.setValue(path, source, start, end);
}

/** The indentation of a literal block: how much longer its first line with text is in the file than in the value. */
function indentOf(source: SourceText, firstLine: number, value: string): number {
  const lines = value.split('\n');
  const index = lines.findIndex((line) => line !== '');
  if (index < 0) return 0;
  const inFile = source.line(firstLine + index) ?? '';
  return Math.max(0, inFile.length - (lines[index] ?? '').length);
}

/** A file with all that it includes, read and parsed. */
type LoadedSources = {
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
async function loadSources(file: string, reader: SourceReader): Promise<LoadedSources> {
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

type ParsedFile = {
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

/** A workflow's file and its includes as one JSON value, with the place of each of its parts. */
export type ParsedSource = {
  /** `undefined` if the file, or one that it includes, has no value: checks would report all that is missing. */
  value: JsonValue | undefined;
  map: SourceMap;
  sources: ReadonlyMap<string, SourceText>;
  diagnostics: Diagnostic[];
};

/**
 * Parses a YAML 1.2 or JSON file with its anchors, merges and `!include`s.
 *
 * Mistakes of notation are diagnostics, never exceptions, all of them at once.
 * @throws {SourceUnreadable} if the file itself cannot be read
 */
export async function parseSource(file: string, reader: SourceReader): Promise<ParsedSource> {
  const loaded = await loadSources(file, reader);
  const map = new SourceMap(loaded.root.source);
  const report = new Report(map);
  report.addAll(loaded.diagnostics);
  const read = await readValues(loaded, map, report);
  const files = [loaded.root, ...loaded.included.values()];
  const isWhole = files.every(({ document, text }) => document !== undefined || text !== undefined);
  return { value: isWhole ? read : undefined, map, sources: loaded.sources, diagnostics: report.diagnostics() };
}

/** Reads files for the parser. Tests and configurations have readers without a disk. */
export interface SourceReader {
  /**
   * Reads a text file (UTF-8).
   * @throws {SourceUnreadable} if the file does not exist, is too large, is no text, or may not be included
   */
  read(file: string): Promise<string>;

  /**
   * The file that an `!include` in `from` names, in the style of `from`.
   * @throws {SourceUnreadable} if nothing of that name may be included
   */
  resolve(from: string, reference: string): Promise<string>;
}

/** A file of a workflow could not be read, or may not be. */
export class SourceUnreadable extends UwfError {
  constructor(file: string, reason: string, options: { hint?: string | undefined; cause?: unknown } = {}) {
    super(`${file} ${reason}`, { code: 'source-unreadable', kind: 'data', ...options, facts: { file } });
  }
}

/** A reader of one file that is read already, and includes no other. */
export function singleFile(text: string): SourceReader {
  return {
    read: () => Promise.resolve(text),
    resolve: (_from, reference) => Promise.reject(new SourceUnreadable(`'${reference}'`, 'cannot be included here')),
  };
}

/** Files larger than this are refused: a workflow is written by hand. */
const MAX_FILE_BYTES = 1024 * 1024;

/**
 * A reader of files on the disk that lie below `root`, symbolic links followed, and in no git folder there.
 * @param root the work tree's top, or the folder of a file that lies in no repository
 */
export function diskReader(root: string): SourceReader {
  return {
    async read(file) {
      try {
        return new TextDecoder('utf-8', { fatal: true }).decode(readFileInside(root, file, MAX_FILE_BYTES));
      } catch (error) {
        if (error instanceof FileRefused) throw new SourceUnreadable(`'${file}'`, error.reason, { hint: error.hint });
        throw new SourceUnreadable(`'${file}'`, describe(error), { cause: error });
      }
    },

    async resolve(from, reference) {
      if (!isAbsolute(reference)) return join(dirname(from), reference);
      throw new SourceUnreadable(`'${reference}'`, 'is an absolute path', {
        hint: 'name the file relative to the one that includes it',
      });
    },
  };
}

function describe(error: unknown): string {
  // Errors of Node's file system carry a code; a decoder's failure is a TypeError with one of its own.
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') return 'does not exist';
  if (code === 'EISDIR') return 'is a folder';
  if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return 'is not UTF-8 text';
  return `cannot be read (${String(code ?? error)})`;
}
