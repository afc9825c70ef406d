import type { NodeHash } from '../../src/cas/hash.ts';
import { isNodeHash } from '../../src/cas/hash.ts';
import { isJsonObject, type JsonValue } from '../../src/json.ts';
import { typeNameOf } from '../../src/schema/built-in.ts';
import type { ExportedCommit, ExportedNode } from '../../src/thread/export-thread.ts';

/** One change of one node. */
export type Mutation = {
  node: NodeHash;
  /** `thread-step.usage.inputTokens`: indexes are `[]`, and names that a workflow or an agent chose are `*`. */
  field: string;
  /** What is done to the field. */
  how: string;
  type: NodeHash;
  payload: JsonValue;
};

/** One change of one commit. */
export type CommitMutation = {
  /** The commit. */
  at: string;
  /** `commit.author.name`. */
  field: string;
  how: string;
  change: Partial<ExportedCommit>;
};

/** All changes of the commits of a thread, but for their files. */
export function* commitMutationsOf(commits: readonly ExportedCommit[]): Generator<CommitMutation, void, void> {
  for (const [place, line] of commits.entries()) {
    const changes = (field: string, hows: Record<string, Partial<ExportedCommit>>): CommitMutation[] =>
      Object.entries(hows).map(([how, change]) => ({ at: line.commit, field: `commit.${field}`, how, change }));
    const { message, author, committer, parents } = line;
    const [subject = '', ...rest] = message.trimEnd().split('\n\n');
    const [trailers = '', body] = [rest.at(-1), rest.slice(0, -1)];
    const told = (parts: readonly string[]): Partial<ExportedCommit> => ({ message: `${parts.join('\n\n')}\n` });
    const other = commits[place === 0 ? commits.length - 1 : place - 1]?.message ?? '';
    yield* changes('subject', {
      passed: told(['tester: passed', ...rest]),
      longer: told([`${subject}x`, ...rest]),
      shorter: told([subject.slice(0, -1), ...rest]),
      spaced: told([`${subject} `, ...rest]),
      'of another': told([other.split('\n', 1).join(), ...rest]),
      'a line more': told([`${subject}\nmore`, ...rest]),
      gone: told(rest),
    });
    yield* changes('body', {
      other: told([subject, 'All is well.', trailers]),
      more: told([subject, ...body, 'More.', trailers]),
      gone: told(body.length > 0 ? [subject, trailers] : [subject, '', trailers]),
      longer: told([subject, ...body.map((text) => `${text}.`), trailers]),
      'of another': told([subject, ...other.trimEnd().split('\n\n').slice(1, -1), trailers]),
    });
    const lines = trailers.split('\n');
    yield* changes('trailers', {
      'one less': told([subject, ...body, lines.slice(0, -1).join('\n')]),
      'one more': told([subject, ...body, `${trailers}\nUwf-Status: approved`]),
      twice: told([subject, ...body, `${trailers}\n${trailers}`]),
      reversed: told([subject, ...body, lines.toReversed().join('\n')]),
      'a line end more': { message: `${message}\n` },
      'no line end': { message: message.trimEnd() },
      ...Object.fromEntries(
        lines.map((text, at) => [`line ${at}`, told([subject, ...body, lines.with(at, `${text}0`).join('\n')])]),
      ),
    });
    const person = { name: 'Anne', email: 'anne@example.org' };
    for (const [who, is] of Object.entries({ author, committer })) {
      yield* changes(`${who}.name`, {
        other: { [who]: { ...is, name: person.name } },
        role: { [who]: { ...is, name: 'tester' } },
      });
      yield* changes(`${who}.email`, { other: { [who]: { ...is, email: person.email } } });
      yield* changes(`${who}.atMs`, {
        later: { [who]: { ...is, atMs: is.atMs + 1000 } },
        earlier: { [who]: { ...is, atMs: is.atMs - 60_000 } },
      });
    }
    const both = { author: { ...author, ...person }, committer: { ...committer, ...person } };
    yield* changes('committer.name', { 'with the author': both });
    const laterMs = author.atMs + 1000;
    yield* changes('dates', {
      both: { author: { ...author, atMs: laterMs }, committer: { ...committer, atMs: laterMs } },
    });
    yield* changes('parents', {
      twice: { parents: [...parents, ...parents.slice(0, 1)] },
      reversed: { parents: parents.toReversed() },
      less: { parents: parents.slice(0, -1) },
      more: { parents: [...parents, ...(place > 1 ? [commits[0]!.commit] : [])] },
    });
  }
}

type Place = (string | number)[];

/** All changes of the nodes of a thread: of each node its type, and of each field all that {@link replacements} names. */
export function* mutationsOf(nodes: readonly ExportedNode[]): Generator<Mutation, void, void> {
  for (const { node, type, payload } of nodes) {
    const name = typeNameOf(type) ?? 'other';
    for (const other of new Set(nodes.map((line) => line.type))) {
      if (other !== type)
        yield { node, field: `${name}:type`, how: `type ${typeNameOf(other) ?? 'other'}`, type: other, payload };
    }
    for (const place of placesIn(payload)) {
      // The parts of a schema are no fields of a node.
      if (name.endsWith('schema') && place.length > 1) continue;
      const field = [name, ...place.map((step) => (typeof step === 'number' ? '[]' : step))]
        .join('.')
        .replaceAll('.[]', '[]');
      const value = at(payload, place);
      for (const [how, change] of replacements(value, nodes, place.length > 0)) {
        const changed = structuredClone(payload);
        const result = put(changed, place, change);
        if (JSON.stringify(result) === JSON.stringify(payload)) continue;
        yield { node, field: anonymous(field), how, type, payload: result };
      }
    }
  }
}

/** Names that are not the format's own. */
function anonymous(field: string): string {
  return field
    .replace(/^(workflow\.roles|thread-start\.agents|agent\.config|thread-step\.meta|other)(\..+)$/, '$1.*')
    .replace(/^((?:meta-|role-)schema)(\..+)$/, '$1.*');
}

function* placesIn(value: JsonValue, place: Place = []): Generator<Place, void, void> {
  yield place;
  if (Array.isArray(value)) for (const [index, item] of value.entries()) yield* placesIn(item, [...place, index]);
  else if (isJsonObject(value)) for (const [key, item] of Object.entries(value)) yield* placesIn(item, [...place, key]);
}

const GONE = Symbol('gone');
type Change = JsonValue | typeof GONE;

function* replacements(
  value: JsonValue,
  nodes: readonly ExportedNode[],
  canGo: boolean,
): Generator<[string, Change], void, void> {
  if (canGo) yield ['delete', GONE];
  for (const other of [null, true, 7, 'x', [], {}, [[]], [null], [7], { a: 1 }]) yield [JSON.stringify(other), other];
  if (typeof value === 'string') {
    yield ['other text', `${value}x`];
    yield ['empty text', ''];
    yield ['another cause', 'limit'];
    if (/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/.test(value)) yield ['another id', `0${value.slice(1, -1)}0`];
    yield ['huge text', 'y'.repeat(100_000)];
    yield ['text with a line end', `${value}\n\nUwf-Node: x`];
    if (isNodeHash(value)) {
      yield ['unknown hash', '0000000000000'];
      for (const { node, type } of nodes) {
        if (node !== value && isFirstOfType(nodes, node, type)) yield [`link to ${typeNameOf(type) ?? 'other'}`, node];
      }
    }
  } else if (typeof value === 'number') {
    for (const other of [value + 1, value - 1, -1, 0.5, 2 ** 53, 1e300, 0, 8.64e15 + 1])
      yield [`number ${other > 1e10 && other < 9e15 && other !== 2 ** 53 ? 'beside' : other}`, other];
  } else if (Array.isArray(value)) {
    yield ['first item twice', [...value.slice(0, 1), ...value]];
    yield ['reversed', value.toReversed()];
    yield ['less', value.slice(1)];
    yield ['long', Array.from({ length: 2000 }, () => value[0] ?? 'x')];
  } else if (isJsonObject(value)) {
    yield ['field more', { ...value, more: 1 }];
    yield ['$cas more', { ...value, more: { $cas: '0000000000000' } }];
    yield ['__proto__ more', JSON.parse(`{"__proto__":1,${JSON.stringify(value).slice(1)}`.replace(',}', '}'))];
  } else if (typeof value === 'boolean') yield ['not', !value];
}

/** Of each type the first and the last node. */
function isFirstOfType(nodes: readonly ExportedNode[], node: NodeHash, type: NodeHash): boolean {
  const all = nodes.filter((line) => line.type === type);
  return all[0]?.node === node || all.at(-1)?.node === node;
}

function at(value: JsonValue, place: Place): JsonValue {
  let found: JsonValue = value;
  for (const step of place) {
    if (Array.isArray(found)) found = found[Number(step)] ?? null;
    else if (isJsonObject(found)) found = found[step] ?? null;
  }
  return found;
}

function put(value: JsonValue, place: Place, change: Change): JsonValue {
  const last = place.at(-1);
  if (last === undefined) return change === GONE ? null : change;
  const parent = at(value, place.slice(0, -1));
  if (Array.isArray(parent)) parent.splice(Number(last), 1, ...(change === GONE ? [] : [change]));
  else if (isJsonObject(parent)) {
    if (change === GONE) delete parent[last];
    else parent[last] = change;
  }
  return value;
}
