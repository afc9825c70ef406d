import type * as Yaml from 'yaml';
import type { Alias, CST, Document, LineCounter, Node } from 'yaml';
import { isJsonObject, type JsonObject, type JsonValue } from '../../json.ts';

/** The fields of a front matter, or what is wrong with them, in words for the agent that wrote them. */
type ParsedFields = { kind: 'ok'; fields: JsonObject } | { kind: 'invalid'; errors: string[] };

/** Structured results are small; a long text belongs into the reply's body. */
const MAX_CHARACTERS = 262_144;
const MAX_DEPTH = 64;
const MAX_ERRORS = 10;

/**
 * Reads the fields of a front matter: YAML 1.2, core schema, a mapping at the top.
 *
 * A value is what YAML says and nothing else: a date stays a string, `007` a number. Refused instead of guessed at:
 * a key that comes twice, an anchor or alias, a tag that YAML 1.2 core does not know, a number that a double cannot
 * hold exactly or that JSON cannot carry. Fields that are nested more than 64 deep or longer than 256 Ki characters
 * are refused before they can exhaust the stack.
 * @param firstLine the number of the first line in the whole reply, from 1, for the messages
 */
export async function parseFields(source: string, firstLine: number): Promise<ParsedFields> {
  if (source.length > MAX_CHARACTERS) {
    return invalid(`the front matter is longer than ${MAX_CHARACTERS} characters: put long text after it`);
  }
  const yaml = await import('yaml');
  const lines = new yaml.LineCounter();
  const tokens = [...new yaml.Parser(lines.addNewLine).parse(source)];
  if (isDeeperThan(tokens, MAX_DEPTH)) return invalid(`the front matter is nested more than ${MAX_DEPTH} deep`);
  const composer = new yaml.Composer({
    version: '1.2',
    schema: 'core',
    strict: true,
    uniqueKeys: true,
    stringKeys: true,
    intAsBigInt: true,
    prettyErrors: false,
    logLevel: 'silent',
  });
  const documents = [...composer.compose(tokens)];
  const [document] = documents;
  if (document === undefined) return { kind: 'ok', fields: {} };
  if (documents.length > 1) return invalid('the front matter holds several YAML documents: give one');

  const errors = [...faultsOf(document, lines, firstLine), ...unfitValues(yaml, document, lines, firstLine)];
  if (errors.length > 0) return { kind: 'invalid', errors: errors.slice(0, MAX_ERRORS) };
  const fields: unknown = document.toJS({ maxAliasCount: 0 });
  if (fields === null) return { kind: 'ok', fields: {} };
  if (!isJsonObject(fields))
    return invalid("the front matter has to be fields, each on a line of its own: 'name: value'");
  return { kind: 'ok', fields };
}

/** What YAML itself refuses. A warning counts: it says that a value was not taken as it was written. */
function* faultsOf(document: Document, lines: LineCounter, firstLine: number): Generator<string> {
  for (const { code, message, pos } of [...document.errors, ...document.warnings]) {
    const hint =
      code === 'BLOCK_AS_IMPLICIT_KEY' || code === 'BAD_SCALAR_START' || code === 'TAG_RESOLVE_FAILED'
        ? '; put the value in double quotes'
        : '';
    yield `line ${lineOf(lines, pos[0], firstLine)}: ${message}${hint}`;
  }
}

/** Values that YAML can write and a reply cannot carry; integers that a double holds are made numbers on the way. */
function* unfitValues(yaml: typeof Yaml, document: Document, lines: LineCounter, firstLine: number): Generator<string> {
  const nodes: Node[] = [];
  yaml.visit(document, { Node: (_, node) => void nodes.push(node) });
  for (const node of nodes) {
    const fault = yaml.isAlias(node)
      ? `'*${node.source}' would be a YAML alias; put the value in double quotes`
      : faultOfNode(yaml, node);
    if (fault !== undefined) yield `line ${lineOf(lines, node.range?.[0] ?? 0, firstLine)}: ${fault}`;
  }
}

function faultOfNode(yaml: typeof Yaml, node: Exclude<Node, Alias>): string | undefined {
  if (node.anchor !== undefined) return `'&${node.anchor}' would be a YAML anchor; put the value in double quotes`;
  if (!yaml.isScalar(node)) {
    const isPlain = node.tag === undefined || /^tag:yaml\.org,2002:(?:map|seq)$/u.test(node.tag);
    return isPlain ? undefined : `the tag ${node.tag} is not allowed here`;
  }
  const { value } = node;
  switch (typeof value) {
    case 'bigint':
      if (!isExact(value)) return `${value} is too large for a number; put it in double quotes`;
      node.value = Number(value);
      return undefined;
    case 'number':
      if (Number.isFinite(value)) return undefined;
      return `${node.source ?? value} is not a number that JSON can carry; put it in double quotes`;
    case 'string':
      return /\p{Surrogate}/u.test(value) ? 'the text holds half of a surrogate pair' : undefined;
    case 'object':
      return value === null ? undefined : `the tag ${node.tag ?? ''} is not allowed here`;
    default:
      return undefined;
  }
}

/** Tells whether a double is that very integer, or at least is written with the same digits. */
function isExact(value: bigint): boolean {
  const double = Number(value);
  return Number.isFinite(double) && (BigInt(double) === value || String(double) === String(value));
}

/** Looks at the concrete syntax, which the parser makes without recursion; what comes after it recurses. */
function isDeeperThan(tokens: readonly CST.Token[], maxDepth: number): boolean {
  const open = tokens.map((token) => ({ token, depth: 0 }));
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { token, depth } = next;
    if (depth > maxDepth) return true;
    if (token.type === 'document' && token.value !== undefined) open.push({ token: token.value, depth });
    if (!('items' in token)) continue;
    for (const { key, value } of token.items) {
      for (const child of [key, value]) {
        if (child !== undefined && child !== null) open.push({ token: child, depth: depth + 1 });
      }
    }
  }
  return false;
}

function lineOf(lines: LineCounter, offset: number, firstLine: number): number {
  return lines.linePos(offset).line + firstLine - 1;
}

function invalid(error: string): ParsedFields {
  return { kind: 'invalid', errors: [error] };
}

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
