import type { NodeHash } from '../cas/hash.ts';
import { pinCompaction } from '../thread/compaction.ts';
import { historyOf, type ContextHistory } from '../thread/context-history.ts';
import { DEFAULT_MAX_CHARACTERS } from '../thread/agent-context.ts';
import { summaryPrompts } from '../thread/summary-prompts.ts';
import { hintToGoOn } from '../thread/hint-to-go-on.ts';
import { WrongThreadState } from '../thread/thread-errors.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import { statusOfHead } from '../thread/thread-status.ts';
import type { ThreadState } from '../thread/thread-state.ts';
import { askAgent } from './ask-agent.ts';
import type { EngineContext, LeaseOptions } from './context.ts';
import { definitionOf } from './definition-of.ts';
import { CannotBeAsked } from './engine-errors.ts';
import type { Lease } from './lease.ts';
import { prepareAgent } from './prepare-agent.ts';
import { tellTaken } from './tell-taken.ts';
import { Interrupted } from './turn-clock.ts';
import { withLease } from './with-thread.ts';

export type CompactOptions = LeaseOptions & {
  /** Which agent of this machine sums up; default: `context.compactor`, else that of the last step's role. */
  agent?: string;
  /** The summary itself; no agent is asked then. */
  text?: string;
};

/** A thread that was compacted. */
export type Compacted = {
  thread: ThreadId;
  /** The content node that the next step carries. */
  compact: NodeHash;
  /** How many steps it stands for. */
  steps: number;
  /** The length of the summary. */
  characters: number;
  /** Who summed up; null for a text that was given. */
  agent: string | null;
};

/** Sums up all that was said in a thread; see `Engine.compact`. */
export async function compactThread(
  context: EngineContext,
  thread: string,
  options: CompactOptions = {},
): Promise<Compacted> {
  return withLease(context, thread, options.adoptLease, async (state, lease) => {
    const last = state.steps.at(-1);
    if (state.end || !last) {
      const why = state.end ? 'no role will be told anything any more' : 'nothing has been said yet';
      const hint = state.end ? `fork it with 'uwf thread fork ${state.id}'` : hintToGoOn(state);
      throw new WrongThreadState(state.id, statusOfHead(state.head, false), why, hint);
    }
    const { text } = options;
    if (text !== undefined) return pin(context, state, text, null);
    return compactByAgent(context, lease, state, last.commit.node.role, options.agent);
  });
}

/**
 * Sums a thread up before a turn, if what the turn would be told has reached `context.compactAtCharacters`. Where that
 * fails the turn is told all there is room for.
 * @param role whose turn it is, and whose agent sums up where no other is configured
 */
export async function compactIfLarge(
  context: EngineContext,
  lease: Lease,
  state: ThreadState,
  role: string,
): Promise<void> {
  const limit = context.config.context?.compactAtCharacters;
  if (limit === undefined) return;
  const { steps } = await historyOf(context.repository, state);
  const characters = steps.reduce((sum, step) => sum + step.text.length, 0);
  if (characters < limit) return;
  try {
    await compactByAgent(context, lease, state, role, undefined);
  } catch (error) {
    if (error instanceof Interrupted || context.signal.aborted) throw error;
    const hint =
      error instanceof CannotBeAsked ? "; 'context.compactor' of the configuration names one that sums up" : '';
    const reason = `${error instanceof Error ? error.message : String(error)}${hint}`;
    context.tell({ event: 'thread.not-compacted', thread: state.id, characters, reason });
  }
}

async function compactByAgent(
  context: EngineContext,
  lease: Lease,
  state: ThreadState,
  role: string,
  wanted: string | undefined,
): Promise<Compacted> {
  const { config, repository } = context;
  const { name: workflow } = await definitionOf(context, state);
  const chosen = wanted ?? config.context?.compactor;
  const history = await historyOf(repository, state);
  const summary = await sumUp(context, lease, state, history, () =>
    prepareAgent(context, workflow, { role, cwd: context.cwd }, state, chosen),
  );
  return pin(context, state, summary.text, summary.agent);
}

/** Has the steps summed up in as many rounds as it takes, each adding some of them to the summary of those before. */
async function sumUp(
  context: EngineContext,
  lease: Lease,
  state: ThreadState,
  history: ContextHistory,
  prepare: () => Promise<Parameters<typeof askAgent>[1]>,
): Promise<{ text: string; agent: string }> {
  const maxCharacters = context.config.context?.maxCharacters ?? DEFAULT_MAX_CHARACTERS;
  let summary = history.compact?.summary;
  let name = '';
  const rounds = summaryPrompts({ task: state.prompt, steps: history.steps, maxCharacters });
  for (const [visit, promptAfter] of rounds.entries()) {
    const prepared = await prepare();
    name = prepared.record.name;
    const prompt = context.redaction().text(promptAfter(summary));
    const question = { prompt, promptWithoutSession: prompt, session: undefined, task: state.prompt, visit };
    summary = await askAgent(context, prepared, { thread: state.id, role: COMPACTOR, ...question }, (pgid) =>
      lease.setProcessGroup(pgid),
    );
    lease.setProcessGroup(null);
  }
  return { text: summary ?? '', agent: name };
}

/** The role in whose name an agent sums up. */
const COMPACTOR = 'compactor';

async function pin(context: EngineContext, state: ThreadState, text: string, agent: string | null): Promise<Compacted> {
  const last = state.steps.at(-1);
  if (!last) throw new WrongThreadState(state.id, 'new', 'nothing has been said yet', hintToGoOn(state));
  const redaction = context.redaction();
  const clean = redaction.text(text);
  tellTaken(context, { thread: state.id, role: agent === null ? null : COMPACTOR }, redaction);
  const compact = await pinCompaction(context.repository, state.id, last.commit.hash, clean);
  const facts = { thread: state.id, steps: state.steps.length, characters: text.length, agent };
  context.tell({ event: 'thread.compacted', ...facts });
  return { ...facts, compact };
}
