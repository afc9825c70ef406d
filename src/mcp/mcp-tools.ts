import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readResult, RESULT_TOOL, resultToolDescription, resultToolSchema } from '../agent/extract/schema-variants.ts';
import { parseNodeHash } from '../cas/hash.ts';
import { repositoryNodes } from '../cas/lookup.ts';
import { getNode } from '../cas/node.ts';
import { describeThread } from '../engine/describe/describe.ts';
import { listThreads } from '../engine/describe/list-threads.ts';
import type { Reading } from '../engine/engine-context.ts';
import type { Redaction } from '../engine/redact/redaction.ts';
import { UwfError } from '../errors.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import type { Repository } from '../git/repository.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../json.ts';
import { inPlaceOf } from '../or-else.ts';
import { builtIn, payloadOf, typeNameOf } from '../schema/built-in.ts';
import { schemaWords } from '../schema/typed-schema.ts';
import { readRefused } from '../thread/exchange.ts';
import { getThread } from '../thread/find-thread.ts';
import { readSaid } from '../thread/read-said.ts';
import { threadCas, type ThreadCas } from '../thread/thread-cas.ts';
import { findStart, readChain, readReply } from '../thread/thread-chain.ts';
import { readTextAt } from '../thread/thread-commit.ts';
import type { ThreadId, ThreadPointer } from '../thread/thread-id.ts';
import { callerCommit, type CommitOf, threadStatuses } from '../thread/thread-state.ts';

/** What the server works on. */
export type McpScope = {
  repository: Repository;
  /** The thread that an agent works in (`UWF_THREAD`), and that the server keeps to; `undefined` where none does. */
  thread: string | undefined;
  /** The folder of the step that an agent works on (`UWF_STEP_DIR`); `undefined` outside of a turn. */
  stepDir: string | undefined;
  /** Whether there is no tool but the one that reports the result of that step. */
  isResultOnly?: boolean;
  /** Takes secrets out of what is put: for each call anew. */
  redaction: () => Redaction;
  version: string;
};

export type McpTool = {
  name: string;
  description: string;
  /** JSON Schema; its `type` is `object`. The input of a call satisfies it. */
  inputSchema: JsonObject;
  /** True where the tool changes nothing. */
  isReadOnly: boolean;
  /** True where the tool itself says what is wrong with its input, and takes more than its schema says. */
  checksItself?: true;
  /** @returns a text as it is, or what is written as JSON */
  run(input: JsonObject, scope: McpScope): Promise<JsonValue>;
};

const threadInput: JsonObject = {
  type: 'string',
  minLength: 1,
  description: 'its id, or the first characters; by default the thread that you work in',
};

function inputOf(properties: JsonObject, required: string[] = []): JsonObject {
  return { type: 'object', properties, required, additionalProperties: false };
}

/** A text of a tool's input; `undefined` where it was left out. */
function textInput(input: JsonObject, name: string): string | undefined {
  const value = input[name];
  return typeof value === 'string' ? value : undefined;
}

/** A number of a tool's input; `undefined` where it was left out. */
function numberInput(input: JsonObject, name: string): number | undefined {
  const value = input[name];
  return typeof value === 'number' ? value : undefined;
}

const count = { type: 'integer', minimum: 1, maximum: 1000 };

const listTool: McpTool = {
  name: 'thread_list',
  description: 'Lists runs of workflows (threads), those that wait for a person first, then the newest.',
  isReadOnly: true,
  inputSchema: inputOf({
    limit: { ...count, description: 'at most so many (20)' },
    all: { type: 'boolean', description: 'those that are over as well' },
  }),
  async run(input, scope) {
    const among = await readableThreads(scope, scope);
    return listThreads(scope, {
      limit: numberInput(input, 'limit') ?? 20,
      statuses: input['all'] === true ? threadStatuses : undefined,
      among,
    });
  },
};

const showTool: McpTool = {
  name: 'thread_show',
  description: 'Shows where a run stands: its status, who is next, its parent and children.',
  isReadOnly: true,
  inputSchema: inputOf({ thread: threadInput }),
  async run(input, scope) {
    return describeThread(scope, await threadIn(scope, input, 'read'));
  },
};

const readTool: McpTool = {
  name: 'thread_read',
  description:
    'Reads what was said in a run, oldest first: the task (number 0), the reply of every step, what suspended turns asked and said, and what was answered.',
  isReadOnly: true,
  inputSchema: inputOf({
    thread: threadInput,
    limit: { ...count, description: 'only the last so many steps (20)' },
    before: { type: 'integer', minimum: 1, description: 'only steps before the one with this number' },
  }),
  async run(input, scope) {
    const options = { limit: numberInput(input, 'limit') ?? 20, before: numberInput(input, 'before') };
    return readSaid(scope.repository, await threadIn(scope, input, 'read'), options);
  },
};

const stepTool: McpTool = {
  name: 'step_show',
  description:
    'Shows a turn of a run, also one that was suspended: what its role was told, what it replied, which replies were not accepted, what it cost.',
  isReadOnly: true,
  inputSchema: inputOf(
    {
      thread: threadInput,
      step: {
        type: 'string',
        minLength: 1,
        description: 'a step by its number, or the first characters of the hash of a step or suspension',
      },
    },
    ['step'],
  ),
  async run(input, scope) {
    const step = textInput(input, 'step') ?? '';
    const { id, head } = await getThread(scope.repository, await threadIn(scope, input, 'read'));
    for await (const commit of readChain(scope.repository, head)) {
      if ((commit.kind !== 'step' && commit.kind !== 'suspend') || !isMeant(step, commit)) continue;
      const prompt = await readTextAt(scope.repository, commit, 'prompt.md');
      const hasText = commit.node.content !== null;
      const text = hasText ? await readTextAt(scope.repository, commit, 'output.md') : '';
      const refused = await readRefused(scope.repository, commit);
      const artifacts = commit.index.filter(({ path }) => path.startsWith('artifacts/')).map(({ hash }) => hash);
      return { thread: id, step: commit.hash, ...commit.node, prompt, text, refused, artifacts };
    }
    throw new UwfError(`thread ${id} has no step or suspension '${step}'`, {
      code: 'step-not-found',
      kind: 'usage',
      hint: 'thread_read lists both, with their numbers and hashes',
    });
  },
};

/** A text of few digits is a step's number: it is too short for a hash. */
function isMeant(text: string, { kind, node, hash }: CommitOf<'step' | 'suspend'>): boolean {
  const isNumber = /^\d{1,6}$/u.test(text);
  return isNumber ? kind === 'step' && Number(text) === node.number : hash.startsWith(text.toUpperCase());
}

export const parentTool: McpTool = {
  name: 'parent_context',
  description:
    'Tells of the run that called this one: its task, the role that called, and what was said there last. Read on with ' +
    'thread_read and cas_get.',
  isReadOnly: true,
  inputSchema: inputOf({
    thread: threadInput,
    limit: { type: 'integer', minimum: 1, maximum: 100, description: 'only the last so many replies (5)' },
  }),
  async run(input, scope) {
    const limit = numberInput(input, 'limit') ?? 5;
    const { repository } = scope;
    const { id, head } = await getThread(repository, await threadIn(scope, input, 'read'));
    const start = await findStart(repository, head);
    const caller = start && callerCommit(start);
    const parent = caller === undefined ? undefined : await findStart(repository, caller);
    if (start === undefined || caller === undefined || parent === undefined) {
      return `thread ${id} was called by no other`;
    }
    const steps: JsonObject[] = [];
    for await (const commit of readChain(repository, caller)) {
      if (steps.length >= limit) break;
      if (commit.kind !== 'step') continue;
      const { number, role, meta } = commit.node;
      const text = await readTextAt(repository, commit, 'output.md');
      steps.unshift({ number, role, step: commit.hash, meta, text });
    }
    return {
      thread: parent.node.id,
      role: start.node.parentRole,
      state: start.node.parentState,
      prompt: parent.node.prompt,
      task: await readReply(repository, parent),
      steps,
    };
  },
};

export const threadTools: readonly McpTool[] = [listTool, showTool, readTool, stepTool];

/**
 * The thread that a tool is to read, or to put something into: the one that its input names, or that the server works for.
 *
 * A server that works for a thread reads that, the threads that called it and those that it called; of others it tells
 * nothing. It puts into its own thread only.
 * @throws {UwfError} if no thread is meant, or one that is out of reach
 */
async function threadIn(scope: McpScope, input: JsonObject, use: 'read' | 'put'): Promise<string> {
  const { repository, thread } = scope;
  const named = textInput(input, 'thread') ?? thread;
  if (named === undefined) {
    const hint = "give 'thread', an id that thread_list lists";
    throw new UwfError('no thread was named, and no role works here', { code: 'thread-needed', kind: 'usage', hint });
  }
  if (thread === undefined) return named;
  const own = await getThread(repository, thread);
  const wanted = named === thread ? own : await getThread(repository, named).catch(noThread);
  if (wanted?.id === own.id) return own.id;
  if (use === 'read' && wanted !== undefined) {
    if ((await isCaller(repository, wanted, own)) || (await isCaller(repository, own, wanted))) return wanted.id;
  }
  const [what, hint] =
    use === 'read'
      ? ['read', 'a turn reads its own thread, those that called it, and those that it called; thread_list lists them']
      : ['put into', "a turn puts into its own thread: leave 'thread' out"];
  const message = `'${named}' is not to be ${what} from thread ${own.id}`;
  throw new UwfError(message, { code: 'thread-out-of-reach', kind: 'usage', hint });
}

/** The threads that a server lists; undefined: all. */
async function readableThreads(
  { repository, thread }: McpScope,
  reading: Reading,
): Promise<ReadonlySet<ThreadId> | undefined> {
  if (thread === undefined) return undefined;
  const own = await getThread(repository, thread);
  const { children } = await describeThread(reading, own.id);
  const ids = new Set<ThreadId>([own.id, ...children]);
  for await (const caller of callersOf(repository, own.head)) ids.add(caller.id);
  return ids;
}

/** Tells whether a thread called another, or called one that did. */
async function isCaller(repository: Repository, caller: ThreadPointer, of: ThreadPointer): Promise<boolean> {
  for await (const { id } of callersOf(repository, of.head)) if (id === caller.id) return true;
  return false;
}

/** The threads above the one that a commit is of, the nearest first. */
async function* callersOf(repository: Repository, head: ObjectId): AsyncGenerator<ThreadPointer, void, void> {
  let start = await findStart(repository, head);
  for (;;) {
    const calledAt = start && callerCommit(start);
    const above = calledAt === undefined ? undefined : await findStart(repository, calledAt);
    if (start === undefined || above === undefined) return;
    const caller = await getThread(repository, start.node.call?.thread ?? above.node.id).catch(noThread);
    // What a thread says of its caller is held against the commit that it began at.
    if (caller !== undefined && (await findStart(repository, caller.head))?.id === above.id) yield caller;
    start = above;
  }
}

/** In place of an error there is no thread: also where several ids begin so, which is not told. */
const noThread = inPlaceOf(UwfError, undefined);

/** How much of a long text is given at once, in characters. */
const MAX_CHARACTERS = 100_000;

const getTool: McpTool = {
  name: 'cas_get',
  description: `Reads a node by its hash: a text, or JSON with its type. Long texts come in pieces of ${MAX_CHARACTERS} characters.`,
  isReadOnly: true,
  inputSchema: inputOf(
    {
      hash: { type: 'string', description: '13 characters' },
      thread: { ...threadInput, description: 'look only into the store of this thread' },
      offset: { type: 'integer', minimum: 0, description: 'where to go on in a long text' },
    },
    ['hash'],
  ),
  async run(input, scope) {
    const offset = numberInput(input, 'offset') ?? 0;
    const { repository } = scope;
    // A thread's history includes the nodes of its callers and of the children that its steps took in.
    const nodes =
      textInput(input, 'thread') === undefined && scope.thread === undefined
        ? repositoryNodes(repository)
        : storeOf(scope, await threadIn(scope, input, 'read'));
    const node = await getNode(nodes, parseNodeHash((textInput(input, 'hash') ?? '').toUpperCase()));
    const { type, payload } = node;
    const text =
      type === builtIn.content
        ? payloadOf(node, 'content').text
        : JSON.stringify({ type: typeNameOf(type) ?? type, payload }, null, 2);
    const end = offset + MAX_CHARACTERS;
    if (offset === 0 && end >= text.length) return text;
    const rest = end < text.length ? `; go on with offset ${end}` : '';
    const last = Math.min(end, text.length);
    return `${text.slice(offset, end)}\n[characters ${offset} to ${last} of ${text.length}${rest}]`;
  },
};

const putTool: McpTool = {
  name: 'cas_put',
  description: 'Stores a text with the run for good (an artifact) and gives its hash, to be named in a result.',
  isReadOnly: false,
  inputSchema: inputOf({ text: { type: 'string' }, thread: threadInput }, ['text']),
  async run(input, scope) {
    const text = textInput(input, 'text') ?? '';
    const redaction = scope.redaction();
    const hash = await threadCas(scope.repository, await threadIn(scope, input, 'put')).put(redaction.text(text));
    const rules = Object.keys(redaction.rules);
    return rules.length === 0
      ? hash
      : `${hash}\nThis is the hash of the text without its secrets: ${rules.join(', ')}.`;
  },
};

/** The store that was read last remembers what it has read: an agent reads node by node, and mostly in its own thread. */
const lastStores = new WeakMap<McpScope, { thread: string; store: ThreadCas }>();

function storeOf(scope: McpScope, thread: string): ThreadCas {
  const last = lastStores.get(scope);
  if (last?.thread === thread) return last.store;
  const store = threadCas(scope.repository, thread);
  lastStores.set(scope, { thread, store });
  return store;
}

export const casTools: readonly McpTool[] = [getTool, putTool];

/**
 * The tool by which an agent reports its structured result, for the turn whose step folder is given.
 *
 * What it accepts lies in the folder as `result.json`, written in one go; a later report takes its place.
 * @returns `undefined` if the folder has no `schema.json`: then no result is expected
 */
export function reportTool(stepDir: string, redaction: McpScope['redaction']): McpTool | undefined {
  const schemaFile = join(stepDir, 'schema.json');
  if (!existsSync(schemaFile)) return undefined;
  const schema: unknown = JSON.parse(readFileSync(schemaFile, 'utf8'));
  if (!isJsonObject(schema)) throw new TypeError(`${schemaFile} holds no schema`);
  return {
    name: RESULT_TOOL,
    description: resultToolDescription('then say the rest as text'),
    isReadOnly: false,
    inputSchema: resultToolSchema(schema),
    checksItself: true,
    async run(input) {
      const result = await readResult(input, schema);
      if (result.kind === 'invalid') {
        const hint = 'report it again, corrected';
        throw new UwfError(result.errors.join('\n'), { code: 'result-refused', kind: 'data', hint });
      }
      const temporary = join(stepDir, `result.${process.pid}.tmp`);
      writeFileSync(temporary, JSON.stringify(redaction().value(result.meta, schemaWords(schema))));
      renameSync(temporary, join(stepDir, 'result.json'));
      return 'The result is noted. Now say the rest as text.';
    },
  };
}
