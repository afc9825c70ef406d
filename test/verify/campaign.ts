import type { EngineContext } from '../../src/engine/engine-context.ts';
import { createEngine } from '../../src/engine/engine.ts';
import { fsck } from '../../src/verify/verify-threads.ts';
import { UwfError } from '../../src/errors.ts';
import { isJsonObject, type JsonObject } from '../../src/json.ts';
import { parseRefName } from '../../src/git/format/refs.ts';
import { walk } from '../../src/schema/links.ts';
import { type ExportedCommit, type ExportedNode, exportThread } from '../../src/thread/export-thread.ts';
import { readTrace } from '../../src/thread/step-trace.ts';
import type { ThreadState } from '../../src/thread/thread-state.ts';
import { readLightChain, readReply, readThread } from '../../src/thread/thread-chain.ts';
import { UNEXPECTED } from '../../src/thread/thread-errors.ts';
import { Verification } from '../../src/verify/verification.ts';
import { checkAll } from './incoming/incoming-fixture.ts';
import { createMapRepository, type MapRepository } from '../helpers/map-repository.ts';
import { putTogether, type ForgedLine } from './forge.ts';
import { commitMutationsOf, mutationsOf, type CommitMutation, type Mutation } from './mutate.ts';
import { growVariedThreads, type Specimen } from './varied-threads.ts';

/** What came of many changes, each of one node or commit of a thread that was encoded, indexed and committed again. */
export type Outcome = {
  tried: number;
  /** The fields that were changed. */
  fields: Set<string>;
  /** Changes that ended a check or a reader in anything but a verdict or an error of uwf's. */
  crashes: string[];
  /** Changes that were found by one of verification and fetch, and not by the other. */
  disagreements: string[];
  /** The fields of which a change was not found, with what was done. */
  undetected: Map<string, Set<string>>;
};

/** A change of a thread's lines. */
type Change = Pick<Mutation, 'field' | 'how'> & { of: Specimen; at: string } & (
    | { node: Mutation }
    | { commit: CommitMutation }
  );

/**
 * Tries changes of every field of every node and commit of several threads, each on its own.
 * @param count how many of all changes there are, evenly spread over fields and ways of changing them
 * @param fields only these
 */
export async function runCampaign(count: number, fields: RegExp = /^/): Promise<Outcome> {
  const all = (await growVariedThreads())
    .flatMap((specimen) => [...changesOf(specimen)])
    .filter(({ field }) => fields.test(field));
  const order = ({ field, how }: Change): string => `${field} ${how}`;
  all.sort((a, b) => (order(a) < order(b) ? -1 : order(a) > order(b) ? 1 : 0));
  const outcome: Outcome = { tried: 0, fields: new Set(), crashes: [], disagreements: [], undetected: new Map() };
  const step = Math.max(1, all.length / count);
  for (let place = 0; place < all.length; place += step) {
    const change = all[Math.floor(place)];
    if (change) await tryOne(change, outcome);
  }
  return outcome;
}

function* changesOf(of: Specimen): Generator<Change, void, void> {
  const nodes = of.lines.filter((line): line is ExportedNode => 'node' in line);
  const questions = questionsIn(nodes);
  for (const node of mutationsOf(nodes)) {
    const field = questions.has(node.node) ? node.field.replace(/^content/, 'question') : node.field;
    yield { of, field, how: node.how, at: node.node, node };
  }
  const commits = of.lines.filter((line): line is ExportedCommit => 'files' in line);
  for (const commit of commitMutationsOf(commits))
    yield { of, field: commit.field, how: commit.how, at: commit.at, commit };
}

/** What people and blocks were asked, but for the task. */
function questionsIn(nodes: readonly ExportedNode[]): Set<string> {
  const payloads = nodes.map(({ payload }) => payload).filter(isJsonObject);
  const isAsked = ({ package: name }: JsonObject): boolean => name === 'builtin:human' || name === 'builtin:block';
  const agents = new Set<unknown>(
    nodes.filter(({ payload }) => isJsonObject(payload) && isAsked(payload)).map(({ node }) => node),
  );
  const questions = payloads.flatMap(({ agent, prompt }) =>
    agents.has(agent) && typeof prompt === 'string' ? [prompt] : [],
  );
  const tasks = payloads
    .filter((payload) => 'startedAtMs' in payload && 'workflow' in payload)
    .map(({ prompt }) => prompt);
  return new Set(questions.filter((hash) => !tasks.includes(hash)));
}

async function tryOne(change: Change, outcome: Outcome): Promise<void> {
  const { of, field, how, at } = change;
  const changed = of.lines.map((line): ForgedLine => {
    if ('node' in change) {
      const { node, type, payload } = change.node;
      return 'node' in line && line.node === node ? { ...line, type, payload } : line;
    }
    return 'files' in line && line.commit === at ? { ...line, ...change.commit.change } : line;
  });
  const keeps = (line: ExportedCommit): boolean => 'commit' in change && line.commit === at;
  const forged = await putTogether(changed, of.base, { keeps });
  if (forged.head === of.head) return;
  outcome.tried += 1;
  outcome.fields.add(field);
  const what = `${field}: ${how} (${at})`;
  const { id } = of;
  const ref = parseRefName(`refs/threads/${id}`);
  const there = createMapRepository(forged.repository.objectMap, new Map([[ref, forged.head]]));
  const crash = (where: string, error: unknown): void =>
    void outcome.crashes.push(
      `${where} of ${what}: ${error instanceof Error ? error.stack?.slice(0, 600) : String(error)}`,
    );
  let isFound = false;
  try {
    const { findings } = await new Verification(there).verify(forged.head);
    isFound = findings.length > 0;
    for (const finding of findings) if (finding.what.startsWith(UNEXPECTED)) crash('verify', finding.what);
    const reason = (await checkAll(there)).get(ref) ?? '';
    if (reason.includes(UNEXPECTED)) crash('fetch', reason);
    if (isFound !== (reason !== '')) {
      outcome.disagreements.push(`${what}: verify says ${findings[0]?.what ?? 'sound'}, fetch ${reason || 'sound'}`);
    }
    for await (const { findings: again } of fsck(contextOf(there))) {
      for (const finding of again) if (finding.what.startsWith(UNEXPECTED)) crash('fsck', finding.what);
    }
  } catch (error) {
    crash('checking', error);
  }
  for (const [name, read] of Object.entries(readers)) {
    try {
      await read(there, { id, head: forged.head });
    } catch (error) {
      if (!(error instanceof UwfError)) crash(name, error);
    }
  }
  if (isFound) return;
  const known = outcome.undetected.get(field) ?? new Set();
  outcome.undetected.set(field, known.add(how));
}

type Pointer = { id: ThreadState['id']; head: ThreadState['head']['id'] };

const readers: Record<string, (repository: MapRepository, pointer: Pointer) => Promise<void>> = {
  async readThread(repository, { id, head }) {
    const { steps } = await readThread(repository, id, head);
    for (const { commit } of steps) await readTrace(repository, commit);
  },
  async readLightChain(repository, { head }) {
    for await (const commit of readLightChain(repository, head))
      if (commit.kind === 'step') await readReply(repository, commit);
  },
  async export(repository, pointer) {
    for await (const _ of exportThread(repository, pointer, { withNodes: true }));
  },
  async walk(repository, { head }) {
    for await (const commit of readLightChain(repository, head)) {
      for await (const _ of walk(repository, commit.hash));
    }
  },
  async describe(repository, { id }) {
    const engine = createEngine({ repository, config: { agents: {}, roles: {} } });
    await engine.list();
    await engine.describe(id);
  },
};

/** What an engine's verbs share; those that look need the repository alone. */
function contextOf(repository: MapRepository): EngineContext {
  return { repository } as Partial<EngineContext> as EngineContext;
}
