import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { writeAnswer } from '../../agent/human/answer-reply.ts';
import { askHuman } from '../../agent/human/human-agent.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { isPerson } from '../../schema/built-in/workflow.ts';
import { assembleContext } from '../../thread/agent-context.ts';
import { outlineSuspension } from '../../thread/exchange.ts';
import { findThread } from '../../thread/find-thread.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { CommitOf, ThreadState } from '../../thread/thread-state.ts';
import { admitWish, commonRequest } from '../agents/admission.ts';
import { definitionOf } from '../children/sub-workflow.ts';
import { findWaitingChildren } from '../children/waiting-children.ts';
import { bindingFor } from '../config/config.ts';
import type { Deciding, Machine, Reading, Telling } from '../engine-context.ts';
import { readCurrent } from '../leases/with-thread.ts';
import { runTreeOf } from '../limits/enter-run-tree.ts';
import { askAgain } from '../turn/accept.ts';
import { getRole, tellPerson } from '../turn/prepare.ts';
import { decideRole, partsForRole } from './preview-context.ts';

/** What became of a question that was put to the person at the terminal. */
export type PutQuestion = {
  /** The thread that asks: the given one, or one below it. */
  thread: ThreadId;
  /** The suspension that was asked about. */
  head: ObjectId;
} & ({ kind: 'answered'; answer: string } | { kind: 'later' } | { kind: 'elsewhere' });

/** How often it is looked whether the question was answered elsewhere, in ms. */
const POLL_MS = 300;

class AnsweredElsewhere extends Error {}

/** See `Engine.putQuestion`. */
export async function putQuestion(
  engine: Machine & Telling,
  thread: string,
  except: ReadonlySet<ThreadId> = new Set(),
): Promise<PutQuestion | undefined> {
  if (engine.askPerson === undefined) return undefined;
  const asking = await findQuestion(engine, await readCurrent(engine.repository, thread), except);
  if (asking === undefined) return undefined;
  const { id, head } = asking;
  const of = { thread: id, head: head.id };
  const watch = new AbortController();
  void untilMoved(engine, id, head.id, watch.signal).then(() => watch.abort(new AnsweredElsewhere()));
  try {
    const answer = await ask(engine, asking, watch.signal);
    return answer === undefined ? { ...of, kind: 'later' } : { ...of, kind: 'answered', answer };
  } catch (error) {
    if (error instanceof AnsweredElsewhere) return { ...of, kind: 'elsewhere' };
    throw error;
  } finally {
    watch.abort();
  }
}

/** Finds the first thread, of this one and those that it waits for, that asks a person of this machine. */
async function findQuestion(
  engine: Deciding,
  state: ThreadState,
  except: ReadonlySet<ThreadId>,
): Promise<Suspended | undefined> {
  const { id, head } = state;
  if (head.kind !== 'suspend') return undefined;
  if (!except.has(id) && (await asksPerson(engine, state))) return { ...state, head };
  for (const { thread } of await findWaitingChildren(engine, state)) {
    const found = await findQuestion(engine, await readCurrent(engine.repository, thread), except);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Resolves once the thread has gone on, or the signal is aborted. */
async function untilMoved(
  { repository }: Reading,
  thread: ThreadId,
  head: ObjectId,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await sleep(POLL_MS, undefined, { signal, ref: false }).catch(() => {});
    const now = await findThread(repository, thread).catch(() => undefined);
    if (now !== undefined && now.head !== head) return;
  }
}

/** @returns `undefined` if the person leaves it for later */
async function ask(engine: Machine & Telling, state: Suspended, elsewhere: AbortSignal): Promise<string | undefined> {
  const { repository, signal, cwd } = engine;
  const definition = await definitionOf(engine, state);
  const { role } = state.head.node;
  const choice = await decideRole(engine, state);
  const { parts } = await partsForRole(engine, { state, definition }, { ...choice, role });
  const wish = { workflow: definition.name, role, cwd, wanted: undefined };
  const { admitted } = await admitWish(engine, state, wish);
  const { editor } = admitted.config;
  const { refused } = await outlineSuspension(repository, state.head);
  const errors = refused.at(-1)?.errors ?? [];
  // As before a turn: what was fetched may have secrets that only this machine knows.
  const redaction = engine.redaction();
  const prompt = redaction.text(assembleContext(parts));
  const outputSchema = structuredClone(getRole(definition, role).schema);
  const tree = runTreeOf(engine, { id: state.id, depth: state.start.node.depth }, {});
  const common = commonRequest(engine, state.id, role, { cwd, tree }, redaction);
  const stepDir = mkdtempSync(join(tmpdir(), 'uwf-question-'));
  try {
    const reply = await askHuman(
      {
        ...common,
        stepDir,
        outputSchema,
        promptWithoutSession: prompt,
        prompt: errors.length === 0 ? prompt : askAgain(prompt, errors, false),
        attempt: errors.length === 0 ? 0 : 1,
        answer: undefined,
        task: redaction.text(state.prompt),
        edgePrompt: choice.prompt && redaction.text(choice.prompt),
        forPerson: redaction.value(tellPerson(state, definition, parts)),
        signal,
        // An editor is left open: what was written in it would be lost.
        askPerson: async (question, options) =>
          engine.askPerson?.(question, {
            ...options,
            signal: AbortSignal.any([elsewhere, options?.signal ?? signal]),
          }) ?? '',
      },
      typeof editor === 'string' ? editor : undefined,
    );
    return reply.kind === 'reply' ? writeAnswer(reply, outputSchema) : undefined;
  } finally {
    rmSync(stepDir, { recursive: true, force: true });
  }
}

export type Suspended = ThreadState & { head: CommitOf<'suspend'> };

/** Tells whether a thread waits for the reply of a role that a person of this machine has. */
export async function asksPerson(engine: Deciding, state: ThreadState): Promise<boolean> {
  const { head } = state;
  if (head.kind !== 'suspend' || head.node.cause !== 'human') return false;
  const { name } = await definitionOf(engine, state);
  const agent = bindingFor(engine.config, name, head.node.role);
  return agent !== undefined && isPerson(agent);
}
