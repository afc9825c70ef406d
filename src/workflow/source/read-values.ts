import type * as Yaml from 'yaml';
import type { Alias, Node, Pair, Scalar, YAMLMap } from 'yaml';
import { setMember, type JsonObject, type JsonValue } from '../../json.ts';
import type { Report } from '../diagnostics/report.ts';
import type { LoadedSources, ParsedFile } from './load-sources.ts';
import type { Path, SourceMap, SourceText } from './source-map.ts';

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
export async function readValues(
  loaded: LoadedSources,
  map: SourceMap,
  report: Report,
): Promise<JsonValue | undefined> {
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
