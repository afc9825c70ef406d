import type { EngineContext } from '../../src/engine/engine-context.ts';
import { createEngine } from '../../src/engine/engine.ts';
import { fsck } from '../../src/verify/fsck.ts';
import { UwfError } from '../../src/errors.ts';
import { parseRefName } from '../../src/git/format/ref-name.ts';
import { walk } from '../../src/schema/links/walk-nodes.ts';
import { exportThread, type ExportedNode } from '../../src/thread/export/export-thread.ts';
import { readTrace } from '../../src/thread/read/read-trace.ts';
import type { ThreadState } from '../../src/thread/read/thread-state.ts';
import { readThread } from '../../src/thread/read/whole-thread.ts';
import { readReply, readLightChain } from '../../src/thread/read/light-chain.ts';
import { UNEXPECTED } from '../../src/thread/fault-of.ts';
import { Verification } from '../../src/verify/chain/verification.ts';
import { checkAll } from './incoming/incoming-fixture.ts';
import { createMapRepository, type MapRepository } from '../helpers/map-repository.ts';
import { putTogether, takeApart, type ForgedLine } from './forge.ts';
import { mutationsOf, type Mutation } from './mutate.ts';
import { growRichThread } from './rich-thread.ts';

/** What came of many changes, each of one node of a thread that was encoded, indexed and committed again. */
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

/**
 * Tries changes of every field of every node of a thread, each on its own.
 * @param count how many of all changes there are, evenly spread over fields and ways of changing them
 * @param fields only these
 */
export async function runCampaign(count: number, fields: RegExp = /^/): Promise<Outcome> {
  const repository = createMapRepository();
  // What was taken up again has all that was there before.
  const state = (await growRichThread(repository)).at(-1);
  if (state === undefined) throw new Error('there is no thread');
  const lines = await takeApart(repository, state.id, state.head.id);
  const nodes = lines.filter((line): line is ExportedNode => 'node' in line);
  const order = ({ field, how }: Mutation): string => `${field} ${how}`;
  const all = [...mutationsOf(nodes)]
    .filter(({ field }) => fields.test(field))
    .toSorted((a, b) => (order(a) < order(b) ? -1 : order(a) > order(b) ? 1 : 0));
  const outcome: Outcome = { tried: 0, fields: new Set(), crashes: [], disagreements: [], undetected: new Map() };
  const step = Math.max(1, all.length / count);
  for (let place = 0; place < all.length; place += step) {
    const mutation = all[Math.floor(place)];
    if (mutation) await tryOne(repository, state, lines, mutation, outcome);
  }
  return outcome;
}

async function tryOne(
  base: MapRepository,
  { id, head }: ThreadState,
  lines: readonly ForgedLine[],
  mutation: Mutation,
  outcome: Outcome,
): Promise<void> {
  const { node, field, how, type, payload } = mutation;
  const changed = lines.map((line) => ('node' in line && line.node === node ? { ...line, type, payload } : line));
  const forged = await putTogether(changed, base);
  if (forged.head === head.id) return;
  outcome.tried += 1;
  outcome.fields.add(field);
  const what = `${field}: ${how} (${node})`;
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
