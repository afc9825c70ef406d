import { messageOf } from '../../errors.ts';
import type { NodeHash } from '../../cas/hash.ts';
import { pinCompaction } from '../../thread/append-step.ts';
import { isTold, summaryPrompts } from '../../thread/agent-context.ts';
import { readStepsToTell } from '../../thread/context-history.ts';
import { hintToGoOn, statusOfHead, type ThreadState } from '../../thread/thread-state.ts';
import { WrongThreadState } from '../../thread/thread-errors.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { askAgent } from '../agents/ask-agent.ts';
import type { LeaseOptions, Machine, Telling } from '../engine-context.ts';
import { definitionOf } from '../children/sub-workflow.ts';
import { CannotBeAsked } from '../engine-errors.ts';
import type { Lease } from '../leases/lease.ts';
import { prepareAgent } from '../agents/admission.ts';
import { tellTaken } from '../engine-context.ts';
import { Interrupted } from '../limits/limits.ts';
import { roomFor } from '../config/config.ts';
import { withThread } from '../leases/with-thread.ts';

export type CompactOptions = LeaseOptions & {
  /** Which agent of this machine sums up; default: `context.compactor`, else that of the last step's role. */
  agent?: string | undefined;
  /** The summary itself; no agent is asked then. */
  text?: string | undefined;
};

export type Compacted = {
  thread: ThreadId;
  /** The content node that the next step carries. */
  compact: NodeHash;
  /** How many steps it stands for. */
  steps: number;
  /** The length of the summary. */
  characters: number;
  /** The agent that summed up; null for a text that was given. */
  agent: string | null;
};

/** See `Engine.compact`. */
export async function compactThread(
  engine: Machine & Telling,
  thread: string,
  options: CompactOptions = {},
): Promise<Compacted> {
  return withThread(engine, thread, options.adoptLease, async (state, lease) => {
    const { last } = state;
    if (state.end || !last) {
      const why = state.end ? 'no role will be told anything any more' : 'nothing has been said yet';
      const hint = state.end ? `fork it with 'uwf thread fork ${state.id}'` : hintToGoOn(state);
      throw new WrongThreadState(state.id, statusOfHead(state.head), why, hint);
    }
    const { text } = options;
    if (text !== undefined) return pin(engine, state, text, null);
    return compactByAgent(engine, lease, state, last.node.role, options.agent);
  });
}

/**
 * Sums a thread up before a turn, if what the turn would be told has reached a limit. Where that fails the turn is told all
 * there is room for.
 * @param role whose turn it is, and whose agent sums up where no other is configured
 * @param limit in characters
 */
export async function compactIfLarge(
  engine: Machine & Telling,
  lease: Lease,
  state: ThreadState,
  role: string,
  limit: number,
): Promise<void> {
  const { steps } = await readStepsToTell(engine.repository, state, { maxCharacters: limit });
  const characters = steps.reduce((sum, step) => sum + (step.text?.length ?? 0), 0);
  if (characters < limit) return;
  try {
    await compactByAgent(engine, lease, state, role, undefined);
  } catch (error) {
    if (error instanceof Interrupted || engine.signal.aborted) throw error;
    const hint =
      error instanceof CannotBeAsked ? "; 'context.compactor' of the configuration names one that sums up" : '';
    const reason = `${messageOf(error)}${hint}`;
    engine.tell({ event: 'thread.not-compacted', thread: state.id, characters, reason });
  }
}

async function compactByAgent(
  engine: Machine & Telling,
  lease: Lease,
  state: ThreadState,
  role: string,
  wanted: string | undefined,
): Promise<Compacted> {
  const { config, repository } = engine;
  const { name: workflow } = await definitionOf(engine, state);
  const use = { workflow, role, cwd: engine.cwd, wanted: wanted ?? config.context?.compactor };
  const { steps, compact } = await readStepsToTell(repository, state);
  let summary = compact?.summary;
  let agent = '';
  // As many rounds as it takes, each adding some of the steps to the summary of those before.
  const rounds = summaryPrompts({ task: state.prompt, steps: steps.filter(isTold), maxCharacters: roomFor(config) });
  for (const [visit, promptAfter] of rounds.entries()) {
    const prepared = await prepareAgent(engine, state, use);
    agent = prepared.record.name;
    const prompt = engine.redaction().text(promptAfter(summary));
    const question = { prompt, promptWithoutSession: prompt, session: undefined, task: state.prompt, visit };
    summary = await askAgent(engine, prepared, { thread: state.id, role: COMPACTOR, ...question }, lease);
    lease.setProcessGroup(null);
  }
  return pin(engine, state, summary ?? '', agent);
}

/** The role in whose name an agent sums up. */
const COMPACTOR = 'compactor';

async function pin(engine: Telling, state: ThreadState, text: string, agent: string | null): Promise<Compacted> {
  const { last } = state;
  if (!last) throw new WrongThreadState(state.id, 'new', 'nothing has been said yet', hintToGoOn(state));
  const redaction = engine.redaction();
  const clean = redaction.text(text);
  tellTaken(engine, { thread: state.id, role: agent === null ? null : COMPACTOR }, redaction);
  const compact = await pinCompaction(engine.repository, state.id, last.hash, clean);
  const facts = { thread: state.id, steps: state.tally.steps, characters: text.length, agent };
  engine.tell({ event: 'thread.compacted', ...facts });
  return { ...facts, compact };
}
