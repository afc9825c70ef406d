import { splitFrontMatter } from '../../agent/extract/front-matter.ts';
import { renderFields } from '../../agent/extract/extract-reply.ts';
import type { AgentReply, AgentRequest } from '../../agent/contract.ts';
import { AgentBroken } from '../../agent/agent-errors.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { UwfError } from '../../errors.ts';
import { commonRequest, type PreparedAgent } from './admission.ts';
import type { Lease } from '../leases/lease.ts';
import type { Machine, Telling } from '../engine-context.ts';
import { CannotBeAsked } from '../engine-errors.ts';
import { combineLimits, Interrupted, NOTHING_USED, TurnClock, watchUsage } from '../limits/limits.ts';
import { enterRunTree, runTreeOf } from '../limits/enter-run-tree.ts';
import { makeStepFolder, removeStepFolder } from '../turn/step-folder.ts';
import { TurnListener } from '../turn/tries.ts';

/** Something an agent is asked beside its turns. */
type Question = Pick<AgentRequest, 'role' | 'prompt' | 'promptWithoutSession' | 'session' | 'task' | 'visit'> & {
  thread: ThreadId;
  /** The step that it is about, if it is about one. */
  about?: ObjectId;
};

/** Any meta will do: what counts is the text. */
const ANY_META = { type: 'object' };

/**
 * Has an agent answer a question outside of the thread's steps: nothing is stored, what it does on the way is told and
 * goes into the thread's journal, and it may neither put nodes nor start threads.
 * @param lease records which processes work for it; absent where none is held
 * @returns the text of the answer, without front matter
 * @throws {CannotBeAsked} if it was not made for that; it is not run then
 * @throws {AgentBroken} if it gives no answer
 */
export async function askAgent(
  engine: Machine & Telling,
  { agent, record, reports }: PreparedAgent,
  question: Question,
  lease?: Lease,
): Promise<string> {
  if (agent.answers !== true) throw new CannotBeAsked(record);
  const { thread, role } = question;
  enterRunTree(engine, thread, `the question to ${role}`);
  const limits = combineLimits(engine.config.limits);
  const allowance = {
    role,
    ofThread: limits,
    ofRole: {},
    more: {},
    usedByThread: NOTHING_USED,
    usedByRole: NOTHING_USED,
  };
  const watch = await watchUsage(engine, thread, { allowance, record, reports, last: question.about });
  if (watch.refusal !== undefined) {
    const hint = "ask another agent with --agent, or set limits.unknownUsage to 'warn'";
    throw new UwfError(watch.refusal, { code: 'limit-unkept', kind: 'data', hint, facts: { role } });
  }
  watch.began();
  const clock = new TurnClock(role, limits, engine.signal);
  const redaction = engine.redaction();
  const listener = new TurnListener(engine, { thread, role }, { clock, allowance, lease, redaction });
  // Under a name of its own: the folder of a step that goes on meanwhile is left alone.
  const stepDir = makeStepFolder(engine.repository, `ask-${process.pid}-${thread}`, ANY_META);
  engine.debug(thread, 'question', {
    role,
    characters: question.prompt.length,
    isSession: question.session !== undefined,
  });
  try {
    listener.startTry(question.prompt);
    const request = requestOf(engine, question, stepDir);
    const reply = await agent
      .run({ ...request, signal: clock.signal, emit: (event) => listener.hear(event) })
      .catch((error: unknown) => {
        throw clock.signal.aborted
          ? (clock.failure ?? clock.ranOut ?? new Interrupted(thread, engine.signal.reason))
          : error;
      });
    watch.ended(reply.usage ?? listener.used ?? null);
    listener.endTry(undefined);
    if (reply.kind === 'failed-attempt') throw noAnswer(role, reply.reason);
    const text = redaction.text(saidIn(reply));
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

/** The words of a reply; the fields where an agent reports a result and says nothing beside it. */
function saidIn(reply: Exclude<AgentReply, { kind: 'failed-attempt' }>): string {
  if (reply.kind === 'suspend') return reply.text ?? reply.reason;
  return reply.text.trim() === '' && reply.meta !== undefined ? renderFields(reply.meta) : reply.text;
}

function requestOf(
  engine: Machine & Telling,
  { thread, role, about: _about, ...told }: Question,
  stepDir: string,
): Omit<AgentRequest, 'signal' | 'emit'> {
  const tree = runTreeOf(engine, { id: thread, depth: 0 }, engine.config.limits ?? {});
  const common = commonRequest(engine, thread, role, { cwd: engine.cwd, tree }, engine.redaction());
  return {
    ...told,
    ...common,
    edgePrompt: undefined,
    stepDir,
    outputSchema: ANY_META,
    attempt: 0,
    answer: undefined,
    env: { ...common.env, UWF_STEP_DIR: stepDir },
    cas: { ...common.cas, put: () => Promise.reject(noAnswer(role, 'a question puts nothing')) },
    runChild: () => Promise.reject(noAnswer(role, 'a question starts no thread')),
  };
}

function noAnswer(role: string, reason: string): AgentBroken {
  return new AgentBroken(`${role} gave no answer: ${reason}`, { hint: 'ask again, or another agent with --agent' });
}
