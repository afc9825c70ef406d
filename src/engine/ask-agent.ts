import { splitFrontMatter } from '../agent/extract/front-matter.ts';
import type { Agent, AgentRequest, Usage } from '../agent/contract.ts';
import { AgentBroken } from '../agent/agent-errors.ts';
import type { AgentRecord } from '../schema/built-in/agent.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import { readSaid } from '../thread/read-said.ts';
import { agentCas } from './agent-cas.ts';
import { agentEnvironment } from './agent-environment.ts';
import type { EngineContext } from './context.ts';
import { CannotBeAsked } from './engine-errors.ts';
import { combineLimits, findBudgetExceeded } from './limits.ts';
import { makeStepFolder, removeStepFolder } from './step-folder.ts';
import { Interrupted, TurnClock } from './turn-clock.ts';
import { TurnListener } from './turn-listener.ts';

/** Something an agent is asked beside its turns. */
export type Question = {
  thread: ThreadId;
  /** In whose name the agent answers. */
  role: string;
  prompt: string;
  /** The same for an agent that turns out not to remember its session. */
  promptWithoutSession: string;
  session: string | undefined;
  /** The user's own words to the thread. */
  task: string;
  visit: number;
};

/** Any meta will do: what counts is the text. */
const ANY_META = { type: 'object' };

/**
 * Has an agent answer a question outside of the thread's steps: nothing is stored, what it does on the way is told and
 * goes into the thread's journal, and it may neither put nodes nor start threads.
 * @param onProcessGroup is told which processes work for it
 * @returns the text of the answer, without front matter
 * @throws {CannotBeAsked} if it was not made for that; it is not run then
 * @throws {AgentBroken} if it gives no answer
 * @throws {TurnTimeout} if its time runs out
 * @throws {Interrupted} if the engine is told to stop
 */
export async function askAgent(
  context: EngineContext,
  { agent, record }: { agent: Agent; record: AgentRecord },
  question: Question,
  onProcessGroup: (pgid: number) => void = () => {},
): Promise<string> {
  if (agent.answers !== true) throw new CannotBeAsked(record);
  const { thread, role } = question;
  const limits = combineLimits(context.config.limits);
  const clock = new TurnClock(role, limits, context.signal);
  const findExceeded = (usage: Usage): string | undefined =>
    findBudgetExceeded({ role, ofThread: limits, ofRole: {}, more: {}, turns: [] }, usage);
  const redaction = context.redaction();
  const listener = new TurnListener(context, { thread, role, clock, findExceeded, onProcessGroup, redaction });
  // Under a name of its own: the folder of a step that goes on meanwhile is left alone.
  const stepDir = makeStepFolder(context.repository, `ask-${process.pid}-${thread}`, ANY_META);
  context.debug(thread, 'question', {
    role,
    characters: question.prompt.length,
    isSession: question.session !== undefined,
  });
  try {
    listener.startTry(question.prompt);
    const request = requestOf(context, question, stepDir);
    const reply = await agent
      .run({ ...request, signal: clock.signal, emit: (event) => listener.hear(event) })
      .catch((error: unknown) => {
        throw clock.signal.aborted
          ? (clock.failure ?? clock.ranOut ?? new Interrupted(thread, context.signal.reason))
          : error;
      });
    listener.endTry(undefined);
    if (reply.kind === 'failed-attempt') throw noAnswer(role, reply.reason);
    const text = redaction.text(reply.kind === 'suspend' ? (reply.text ?? reply.reason) : reply.text);
    const split = splitFrontMatter(text);
    const answer = (split.kind === 'found' && split.body.trim() !== '' ? split.body : text).trim();
    if (answer === '') throw noAnswer(role, 'it said nothing');
    return `${answer}\n`;
  } finally {
    clock.stop();
    await agent.close?.().catch(() => {});
    removeStepFolder(stepDir);
  }
}

function requestOf(
  context: EngineContext,
  { thread, role, ...told }: Question,
  stepDir: string,
): Omit<AgentRequest, 'signal' | 'emit'> {
  const cas = agentCas(context, thread, context.redaction());
  return {
    ...told,
    threadId: thread,
    role,
    edgePrompt: undefined,
    cwd: context.cwd,
    stepDir,
    outputSchema: ANY_META,
    attempt: 0,
    answer: undefined,
    env: { ...agentEnvironment(context, { threadId: thread, role }), UWF_STEP_DIR: stepDir },
    cas: {
      get: (hash) => cas.get(hash),
      list: () => cas.list(),
      put: () => Promise.reject(noAnswer(role, 'a question puts nothing')),
    },
    readThread: (options) => readSaid(context.repository, thread, options),
    runChild: () => Promise.reject(noAnswer(role, 'a question starts no thread')),
    askPerson: context.askPerson,
  };
}

function noAnswer(role: string, reason: string): AgentBroken {
  return new AgentBroken(`${role} gave no answer: ${reason}`, { hint: 'ask again, or another agent with --agent' });
}
