import type * as Yaml from 'yaml';
import type { Alias, CST, Document, LineCounter, Node } from 'yaml';
import { faultOfLength, MAX_REASON_BYTES } from '../../cas/canonical.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../json.ts';
import { validateAgainst } from '../../schema/validate-against.ts';
import { splitFrontMatter } from './front-matter.ts';

/** What a reply contains: its meta and its text, its mistakes, or a question for a person. */
type Extraction =
  | { kind: 'ok'; meta: JsonObject; body: string }
  /** Sentences for the agent, which corrects its reply. */
  | { kind: 'invalid'; errors: readonly string[] }
  | { kind: 'suspend'; reason: string };

type Parts = { meta: JsonObject; body: string };

/** The `$status` by which any role suspends its thread, with a `reason`. */
const SUSPEND_STATUS = '$SUSPEND';

/**
 * Takes a reply apart into meta and text, and holds the meta against the role's schema.
 *
 * Reads the front matter as `splitFrontMatter` and `parseFields` describe, and never invents a value: nothing is
 * defaulted, converted or left out. A reply whose `$status` is `$SUSPEND` suspends, whatever the schema says.
 * @param text the reply: Markdown, with front matter unless `meta` is given
 * @param meta the structured part, where the agent reported it apart; `text` is the body then, as it is
 * @param clean removes from both parts what must not be stored; called before validation
 */
export async function extractReply(
  text: string,
  schema: JsonObject,
  meta?: JsonObject,
  clean: (meta: JsonObject, body: string) => Parts = (...[fields, body]) => ({ meta: fields, body }),
): Promise<Extraction> {
  if (meta !== undefined) return judge(clean(meta, text), schema);
  const split = splitFrontMatter(text);
  if (split.kind === 'missing') return { kind: 'invalid', errors: [split.error] };
  const parsed = await parseFields(split.yaml, split.firstLine);
  return parsed.kind === 'ok' ? judge(clean(parsed.fields, split.body), schema) : parsed;
}

async function judge({ meta, body }: Parts, schema: JsonObject): Promise<Extraction> {
  if (meta['$status'] === SUSPEND_STATUS) {
    const { reason } = meta;
    const fault = typeof reason === 'string' && faultOfLength('meta.reason', reason, MAX_REASON_BYTES);
    if (fault) return { kind: 'invalid', errors: [fault] };
    if (typeof reason === 'string' && reason.trim() !== '') return { kind: 'suspend', reason: reason.trim() };
    return { kind: 'invalid', errors: [`meta.reason must say what you need, with $status ${SUSPEND_STATUS}`] };
  }
  const tooLong = faultOfLength('the reply', body) ?? faultOfLength('meta', JSON.stringify(meta));
  if (tooLong !== undefined)
    return { kind: 'invalid', errors: [`${tooLong}: write what is longer to a file and name that`] };
  const errors = await checkValue(schema, meta, 'meta');
  return errors.length === 0 ? { kind: 'ok', meta, body } : { kind: 'invalid', errors };
}

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

/**
 * Holds a value against a JSON Schema (2020-12) and says what is wrong, one sentence for each mistake; none when all is
 * well.
 *
 * The sentences are for people and agents: each names its place from `root` on (`meta.words must be an integer`).
 * @throws {InvalidSchema} when the schema is none
 * @throws {ValidationTimeout} when a regular expression of the schema does not come to an end
 */
export async function checkValue(schema: JsonObject, value: JsonValue, root: string): Promise<string[]> {
  const errors = await validateAgainst(schema, value);
  return errors.map(({ path, message }) => `${placeOf(path, root)} ${message}`);
}

/** Writes a JSON pointer (RFC 6901) as one writes it in a program: `meta.phases[0].hash`. */
function placeOf(pointer: string, root: string): string {
  const names = pointer.split('/').slice(1);
  return names
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((place, name) => {
      if (/^\d+$/u.test(name)) return `${place}[${name}]`;
      return /^[\w$-]+$/u.test(name) ? `${place}.${name}` : `${place}[${JSON.stringify(name)}]`;
    }, root);
}
