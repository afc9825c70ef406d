import type { ObjectId } from '../../src/git/format/object-id.ts';
import { isJsonObject, type JsonObject } from '../../src/json.ts';
import { builtIn, typeNameOf, type TypeName } from '../../src/schema/built-in.ts';
import type { ExportedCommit, ExportedNode } from '../../src/thread/export-thread.ts';
import { activeRef, type ThreadId } from '../../src/thread/thread-id.ts';
import type { ThreadState } from '../../src/thread/thread-state.ts';
import { createMapRepository, type MapRepository } from '../helpers/map-repository.ts';
import { type ForgedLine, putTogether, takeApart } from './forge.ts';
import { createDice, type Dice, growThread } from './grow-thread.ts';

/** The same for everybody who forges in one process: they grow the same threads. */
export const dice: Dice = createDice(41);

/** Grows threads of three steps and more. */
export async function growThreads(count: number): Promise<{ repository: MapRepository; threads: ThreadState[] }> {
  const repository = createMapRepository();
  const threads: ThreadState[] = [];
  while (threads.length < count) {
    const state = await growThread(repository, dice);
    if (state.tally.steps >= 3) threads.push(state);
  }
  return { repository, threads };
}

/** A repository that has one thread, to be fetched. */
export function remoteWith({ objectMap }: MapRepository, id: ThreadId, head: ObjectId): MapRepository {
  return createMapRepository(objectMap, new Map([[activeRef(id), head]]));
}

export function oneOf<T>(list: readonly T[]): T {
  const item = list[dice(list.length)];
  if (item === undefined) throw new Error('there is nothing to choose from');
  return item;
}

type Chain = { nodes: ExportedNode[]; commits: ExportedCommit[] };
type Forgery = (thread: Chain) => boolean;

/** Changes a field of one of the nodes of a type for which there is something to change. */
function field(type: TypeName, change: (payload: JsonObject, thread: Chain) => boolean): Forgery {
  return (thread) => {
    const nodes = thread.nodes.filter((node) => typeNameOf(node.type) === type);
    const start = dice(nodes.length || 1);
    return [...nodes.slice(start), ...nodes.slice(0, start)].some((node) => change(node.payload as JsonObject, thread));
  };
}

/** Changes one of the commits for which there is something to change. */
function commit(change: (line: ExportedCommit, thread: Chain) => boolean): Forgery {
  return (thread) => {
    const start = dice(thread.commits.length);
    return [...thread.commits.slice(start), ...thread.commits.slice(0, start)].some((line) => change(line, thread));
  };
}

function set(payload: JsonObject, key: string, value: JsonObject[string]): boolean {
  payload[key] = value;
  return true;
}

/** Removes or replaces in the message. */
function edit(line: ExportedCommit, from: RegExp, to: string): boolean {
  const before = line.message;
  line.message = before.replace(from, to);
  return line.message !== before;
}

const isDecided = (step: JsonObject): boolean => step['rule'] !== null;
const NO_CALLER = '01KTWEWZ760000000000000000';
const isCalled = (start: JsonObject): boolean => isJsonObject(start['call']);
const setInCall = (start: JsonObject, key: string, value: JsonObject[string]): boolean => {
  const { call } = start;
  return isJsonObject(call) && set(call, key, value);
};
const isBorn = (start: JsonObject): boolean => start['parentThread'] !== null;

const isText = ({ type, payload }: ExportedNode): boolean =>
  type === builtIn.content && (payload as JsonObject)['refs'] === undefined;

function leaveOut(line: ExportedCommit, commits: ExportedCommit[]): boolean {
  const place = commits.indexOf(line);
  const next = commits[place + 1];
  if (!next || line.parents.length !== 1 || next.parents[0] !== line.commit) return false;
  next.parents[0] = line.parents[0]!;
  return commits.splice(place, 1).length > 0;
}

/** What a forger does to a thread, by its name. */
export const forgeries: Record<string, Forgery> = {
  'another role': field(
    'thread-step',
    (step) => isDecided(step) && set(step, 'role', step['role'] === 'writer' ? 'checker' : 'writer'),
  ),
  'a role that there is not': field('thread-step', (step) => set(step, 'role', 'ghost')),
  'another rule': field('thread-step', (step) => isDecided(step) && set(step, 'rule', (Number(step['rule']) + 1) % 4)),
  'a status that leads elsewhere': field('thread-step', (step, { nodes }) => {
    if (step['role'] !== 'checker') return false;
    // The step after it, which the rules gave its turn.
    const next = nodes.find(({ payload }) => (payload as JsonObject)['number'] === Number(step['number']) + 1);
    if (!next || !isDecided(next.payload as JsonObject)) return false;
    const meta = step['meta'] as JsonObject;
    return set(meta, '$status', meta['$status'] === 'again' ? 'done' : 'again');
  }),
  'meta that its schema forbids': field('thread-step', (step) => set(step, 'meta', { $status: 'perhaps' })),
  'another number': field('thread-step', (step) => set(step, 'number', Number(step['number']) + 1)),
  'no step before': field('thread-step', (step) => step['previous'] !== null && set(step, 'previous', null)),
  'fewer ancestors': field(
    'thread-step',
    (step) => (step['ancestors'] as string[]).length > 0 && set(step, 'ancestors', []),
  ),
  'a field that there is not': field('thread-step', (step) => set(step, 'more', 1)),
  'another agent': field('agent', (agent) => set(agent, 'name', 'forger')),
  'another duration': field('thread-step', (step) => set(step, 'startedAtMs', Number(step['startedAtMs']) - 5000)),
  'other usage': field('thread-step', (step) => set(step, 'usage', { inputTokens: 7, outputTokens: 7777, turns: 1 })),
  'a child thread that was none': field('thread-step', (step, { nodes }) => {
    const end = nodes.find((node) => node.type === builtIn['thread-end']);
    return (
      end !== undefined && (step['childThreads'] as string[]).length === 0 && set(step, 'childThreads', [end.node])
    );
  }),
  'another depth': field('thread-start', (start) => set(start, 'depth', Number(start['depth']) + 1)),
  'no caller': field('thread-start', (start) => isBorn(start) && set(start, 'parentThread', null)),
  'another id of a child': field('thread-start', (start) => isCalled(start) && set(start, 'id', NO_CALLER)),
  'another key of a call': field('thread-start', (start) => setInCall(start, 'key', 'other')),
  'another ordinal of a call': field('thread-start', (start) => setInCall(start, 'ordinal', 7)),
  'another caller of a call': field('thread-start', (start) => setInCall(start, 'thread', NO_CALLER)),
  'a call that nobody made': field('thread-start', (start) => {
    return start['parentThread'] === null && set(start, 'call', { thread: NO_CALLER, key: 'x' });
  }),
  'another caller role': field('thread-start', (start) => isBorn(start) && set(start, 'parentRole', 'ghost')),
  'a start at another time': field('thread-start', (start) =>
    set(start, 'startedAtMs', Number(start['startedAtMs']) + 60_000),
  ),
  'another outcome': field('thread-end', (end) => end['outcome'] === 'completed' && set(end, 'outcome', 'cancelled')),
  'another return code': field('thread-end', (end) => set(end, 'returnCode', 7)),
  'no last step': field('thread-end', (end) => end['lastStep'] !== null && set(end, 'lastStep', null)),
  'another reason to wait': field('thread-suspend', (pause) => set(pause, 'rule', (Number(pause['rule']) + 1) % 4)),
  'a wait after another step': field(
    'thread-suspend',
    (pause) => pause['previous'] !== null && set(pause, 'previous', null),
  ),
  'an answer to something else': field('thread-resume', (answer) => set(answer, 'suspension', answer['start'] ?? null)),
  'an answer left out': commit(
    (line, { commits }) => line.files['resume.json'] !== undefined && leaveOut(line, commits),
  ),
  'a date that no id can hold': field('thread-step', (step) => set(step, 'completedAtMs', 2 ** 48 + 1000)),
  'another rule in the workflow': field('workflow', (workflow) => {
    const rules = workflow['moderator'] as JsonObject[];
    rules[1] = { from: 'writer', to: 'writer', when: null };
    return true;
  }),
  'a schema of a role that never ends': field('role-schema', (schema) => {
    for (const key of Object.keys(schema)) delete schema[key];
    return set(schema, '$ref', '#');
  }),
  'a trace that is none': field('thread-step', (step) => set(step, 'react', step['content'] ?? null)),
  'a compaction that is not there': field(
    'thread-step',
    (step, { nodes }) => step['previous'] !== null && set(step, 'compact', nodes.find(isText)?.node ?? null),
  ),
  'a child thread twice': field('thread-step', (step) => {
    const children = step['childThreads'] as string[];
    return children.length > 0 && children.push(...children) > 0;
  }),
  'a reply that refers to what was not put': field('content', (reply, { nodes }) => {
    const refs = reply['refs'] as string[] | undefined;
    return refs !== undefined && refs.push(nodes.find(isText)?.node ?? '') > 0;
  }),
  'a trace of another role': field('react-session', (session) => set(session, 'role', 'ghost')),
  'a trace of another agent': field('react-session', (session, { nodes }) => {
    const other = nodes.find(({ type, node }) => type === builtIn.agent && node !== session['agent']);
    return other !== undefined && set(session, 'agent', other.node);
  }),
  'a trace that took more tokens': field('react-session', (session) => set(session, 'totalTokens', 9)),
  'a wrong node in a trailer': commit((line) => edit(line, /\nUwf-Node: ./, '\nUwf-Node: _')),
  'a wrong type in a trailer': commit((line) => edit(line, /\nUwf-Type: thread-\w+/, '\nUwf-Type: content')),
  'a wrong role in a trailer': commit((line) =>
    edit(line, /Uwf-Role: \w+(?=\nUwf-Agent|\nUwf-Status)/, 'Uwf-Role: ghost'),
  ),
  'a trailer more': commit((line) => edit(line, /$/, 'Uwf-Status: approved\n')),
  'a trailer less': commit((line) => edit(line, /\nUwf-Duration: [\d.]+s(?=\n)/, '')),
  'another role that is next': commit((line) => edit(line, /\nUwf-Next: \w+\n$/, '\nUwf-Next: ghost\n')),
  'no trailers': commit((line) => edit(line, /\nUwf-Node[^]*$/, '\n')),
  'another author': commit((line) => line.author.email.endsWith('@uwf') && Boolean((line.author.name = 'ghost'))),
  'another date': commit((line) => Boolean((line.committer.atMs += 86_400_000))),
  'an artifact that nothing names': commit(({ files }, { nodes }) => {
    const text = nodes.find(isText);
    // A commit has only what came before it.
    if (text === undefined || !files['step.json'] || Object.values(files).includes(text.node)) return false;
    files[`artifacts/${text.node}.md`] = text.node;
    return true;
  }),
  'a parent twice': commit((line) => line.parents.length > 0 && line.parents.push(line.parents[0]!) > 0),
  'a file less': commit(({ files }) => {
    const path = oneOf(
      Object.keys(files).filter((name) => !/^(start|step|suspend|resume|end)\.json$|^artifacts/.test(name)),
    );
    return delete files[path];
  }),
  'a file more': commit(({ files }) => {
    files['extra.md'] = files[oneOf(Object.keys(files))]!;
    return true;
  }),
  'a file in the place of another': commit(({ files }) => {
    if (!files['prompt.md'] || !files['output.md'] || files['prompt.md'] === files['output.md']) return false;
    [files['prompt.md'], files['output.md']] = [files['output.md'], files['prompt.md']];
    return true;
  }),
  'two files of a trace exchanged': commit(({ files }) => {
    const [a, b] = ['trace/001/input.md', 'trace/001/output.md'];
    if (!files[a] || !files[b]) return false;
    [files[a], files[b]] = [files[b], files[a]];
    return true;
  }),
  'a file under another name': commit(({ files }) => {
    const path = oneOf(Object.keys(files).filter((name) => name.includes('.')));
    files[`${path}x`] = files[path]!;
    return delete files[path];
  }),
  'a part of a trace under two names': commit(({ files }) => {
    const path = Object.keys(files).find((name) => name.startsWith('trace/001/parts/1-'));
    const other = `trace/001/parts/1-${path?.endsWith('plan.md') === true ? 'note' : 'plan'}.md`;
    return path !== undefined && Boolean((files[other] = files[path]!));
  }),
  'a step left out': commit((line, { commits }) => line.files['step.json'] !== undefined && leaveOut(line, commits)),
  'a parent more': commit((line, { commits }) => {
    const other = commits[0]!.commit;
    return line.commit !== other && !line.parents.includes(other) && line.parents.push(other) > 0;
  }),
  'a parent less': commit((line) => line.parents.length > 1 && line.parents.pop() !== undefined),
};

/**
 * Forges a thread, and works every hash and id out anew. The messages, authors and dates stay.
 * @returns `undefined` if there is nothing to change in it
 */
export async function forge(
  repository: MapRepository,
  { id, head }: ThreadState,
  name: string,
): Promise<Awaited<ReturnType<typeof putTogether>> | undefined> {
  const lines = await takeApart(repository, id, head.id);
  const chain = {
    nodes: lines.filter((line): line is ExportedNode => 'node' in line),
    commits: lines.filter((line): line is ExportedCommit => 'commit' in line),
  };
  if (!forgeries[name]?.(chain)) return undefined;
  const kept: ForgedLine[] = lines.filter((line) => 'node' in line || chain.commits.includes(line));
  // With the id that follows from it, another call is another child, and sound.
  const hasOldIds = / of a (?:call|child)$/.test(name);
  const forged = await putTogether(kept, undefined, { hasOldIds, keeps: () => true });
  return forged.head === head.id ? undefined : forged;
}
