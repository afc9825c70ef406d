import { hintToGoOn, type StepEntry } from '../../thread/thread-state.ts';
import { WrongThreadState } from '../../thread/thread-errors.ts';
import { getThread } from '../../thread/find-thread.ts';
import { readTextAt } from '../../thread/thread-commit.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { readThread, type WholeThread } from '../../thread/thread-chain.ts';
import { askAgent } from '../agents/ask-agent.ts';
import type { Machine, Reading, Telling } from '../engine-context.ts';
import { agentName } from '../../thread/step-view.ts';
import { definitionOf } from '../children/sub-workflow.ts';
import { prepareAgent } from '../agents/admission.ts';
import { readSession } from '../turn/step-folder.ts';

export type AskOptions = {
  /** The step whose agent is asked, by its number; default: the last. */
  step?: number | undefined;
  /** Another agent of this machine than the one that did the step. */
  agent?: string | undefined;
};

export type Answer = {
  thread: ThreadId;
  role: string;
  /** The step that the question is about. */
  step: string;
  /** The agent that answered. */
  agent: string;
  /** Whether it remembered the step, or was told of it. */
  isSession: boolean;
  text: string;
};

/** See `Engine.ask`. */
export async function askThread(
  engine: Machine & Telling,
  thread: string,
  question: string,
  options: AskOptions = {},
): Promise<Answer> {
  const { repository, config } = engine;
  const pointer = await getThread(repository, thread);
  const state = await readThread(repository, pointer.id, pointer.head);
  const entry = options.step === undefined ? state.steps.at(-1) : state.steps[options.step - 1];
  if (!entry) throw noSuchStep(state, options.step);
  const { role } = entry.commit.node;
  const { name: workflow } = await definitionOf(engine, state);
  const itsOwn = await agentName(repository, state.start, entry.commit);
  // The agent that did the step is asked, if this machine has it.
  const wanted = options.agent ?? (Object.hasOwn(config.agents, itsOwn) ? itsOwn : undefined);
  const prepared = await prepareAgent(engine, state, { workflow, role, cwd: engine.cwd, wanted });
  // The session has not gone on since only if the step is its role's newest.
  const isNewest = state.steps.findLast(({ commit }) => commit.node.role === role) === entry;
  const remembered = isNewest
    ? readSession(repository, { threadId: state.id, role, agent: prepared.record.name })
    : undefined;
  const seenUpTo = state.chain.findIndex(({ id }) => id === remembered?.seen);
  const session = seenUpTo >= state.chain.indexOf(entry.commit) ? remembered?.id : undefined;
  const asked = engine.redaction().text(question);
  const prompt = `# A question\n\n${asked}\n\n${HOW_TO_ANSWER}\n`;
  const promptWithoutSession = engine.redaction().text(await withContext(engine, entry, prompt));
  const text = await askAgent(engine, prepared, {
    thread: state.id,
    about: entry.commit.id,
    role,
    prompt: session === undefined ? promptWithoutSession : prompt,
    promptWithoutSession,
    session,
    task: asked,
    visit: state.steps.filter(
      ({ commit }) => commit.node.role === role && commit.node.number < entry.commit.node.number,
    ).length,
  });
  engine.journal.close(state.id);
  return {
    thread: state.id,
    role,
    step: entry.commit.hash,
    agent: prepared.record.name,
    isSession: session !== undefined,
    text,
  };
}

const HOW_TO_ANSWER =
  'Answer it in plain text. This is no step of the thread: do not change any file, do not do the task again, and leave out ' +
  'the front matter that your replies have otherwise.';

async function withContext(engine: Reading, { commit, text }: StepEntry, prompt: string): Promise<string> {
  const told = await readTextAt(engine.repository, commit, 'prompt.md');
  return `# What you were told\n\n${told.trim()}\n\n# What you replied\n\n${text.trim()}\n\n${prompt}`;
}

function noSuchStep({ id, steps, head }: WholeThread, number: number | undefined): WrongThreadState {
  const what =
    number === undefined || steps.length === 0 ? 'no role has done anything yet' : `it has no step ${number}`;
  const hint = steps.length === 0 ? hintToGoOn({ id, head }) : `'uwf step list ${id}' lists its steps`;
  return new WrongThreadState(id, `at step ${steps.length}`, what, hint);
}
