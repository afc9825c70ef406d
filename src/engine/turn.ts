import { setTimeout as sleep } from 'node:timers/promises';
import { RequestRefused } from '../agent/agent-errors.ts';
import type { Agent, AgentReply, AgentRequest, Usage } from '../agent/contract.ts';
import { extractReply } from '../agent/extract/extract-reply.ts';
import { UwfError } from '../errors.ts';
import type { JsonObject } from '../json.ts';
import { CheckFailed } from '../moderator/moderator-errors.ts';
import { addUsage } from '../schema/built-in/add-usage.ts';
import { schemaWords } from '../schema/schema-words.ts';
import type { SuspendCause } from '../schema/built-in/thread-suspend.ts';
import { failureReason } from '../thread/failure-reason.ts';
import type { AttemptDraft } from '../thread/thread-draft.ts';
import type { TraceDraft } from '../thread/trace-files.ts';
import { parseThreadId } from '../thread/thread-id.ts';
import type { EngineContext } from './context.ts';
import { DepthExceeded } from './engine-errors.ts';
import type { Redaction } from './redaction.ts';
import { makeStepFolder, removeStepFolder } from './step-folder.ts';
import { BudgetExceeded, Interrupted, type TurnClock } from './turn-clock.ts';
import type { ChildEnd, TurnCalls } from './turn-calls.ts';
import { TurnListener } from './turn-listener.ts';

/** How long an agent that was told to stop is waited for. */
const ABORT_GRACE_MS = 30_000;

/** The role's word, accepted; or why there is none. */
export type TurnResult = {
  attempts: readonly AttemptDraft[];
  usage: Usage | null;
  session: string | undefined;
  /** How the agent came to it; `undefined` where it did not tell. */
  trace: TraceDraft | undefined;
} & (
  | {
      kind: 'done';
      meta: JsonObject;
      text: string;
      agentVersion: string | undefined;
      stopReason: string | undefined;
      /** The ends of the child threads that belong to the turn. */
      childThreads: readonly ChildEnd[];
    }
  | { kind: 'suspended'; cause: SuspendCause; reason: string; text: string | undefined; due?: number | undefined }
);

/** Everything of a turn that stays the same over its tries. */
export type TurnRequest = {
  agent: Agent;
  request: Omit<AgentRequest, 'attempt' | 'signal' | 'emit' | 'stepDir'>;
  clock: TurnClock;
  /** The child threads that the agent calls. */
  calls: TurnCalls;
  /** Tries after the first. */
  retries: number;
  /**
   * Says what is wrong with a reply that its schema accepts: checks, links. Empty: nothing.
   * @throws {CheckFailed} if a check comes to no answer
   */
  findFaults: (meta: JsonObject) => Promise<readonly string[]>;
  /** Says which budget the turn has gone beyond, by what it has used so far. */
  findExceeded: (usage: Usage) => string | undefined;
  onProcessGroup: (pgid: number) => void;
  /**
   * Takes secrets out of what the agent says, before it is judged. Its `failure` says afterwards why that is as the agent
   * said it, with the secrets that may be in it.
   */
  redaction: Redaction;
};

/**
 * Lets an agent take its turn: runs it, reads its reply, and asks again while the reply is not acceptable.
 *
 * @throws {Interrupted} if the engine was told to stop
 * @throws {UwfError} of kind `agent` or `environment`, when trying again cannot help; of kind `agent` only before the agent
 *   has said anything
 */
export async function takeTurn(context: EngineContext, turn: TurnRequest): Promise<TurnResult> {
  const { request, clock } = turn;
  const thread = parseThreadId(request.threadId);
  const attempts: AttemptDraft[] = [];
  const { onProcessGroup, findExceeded } = turn;
  const redaction = turn.redaction.passingPart();
  const listened = { thread, role: request.role, clock, findExceeded, onProcessGroup, redaction: turn.redaction };
  const listener = new TurnListener(context, listened);
  let { prompt, session } = request;
  let usage: Usage | null = null;
  let stepDir: string | undefined;
  const soFar = (): Pick<TurnResult, 'attempts' | 'usage' | 'session' | 'trace'> => {
    return { attempts, usage, session, trace: cleanTrace(redaction, listener.trace.finish()) };
  };
  try {
    stepDir = makeStepFolder(context.repository, request.threadId, request.outputSchema);
    for (let attempt = 0; ; attempt += 1) {
      const env = { ...request.env, UWF_STEP_DIR: stepDir };
      listener.startTry(prompt);
      turn.calls.startTry();
      context.debug(thread, 'try', { attempt, characters: prompt.length, isSession: session !== undefined });
      const reply = await runAgent(context, turn, listener, { ...request, env, prompt, session, attempt, stepDir });
      // One that was cut off may have told what it cost before.
      const used = reply.usage ?? listener.trace.usage;
      listener.endTry(used);
      usage = addUsage(usage, used);
      session = clean(redaction, reply.session) ?? session;
      if (reply.kind === 'suspend') {
        return {
          kind: 'suspended',
          ...soFar(),
          cause: reply.cause,
          reason: redaction.text(reply.reason),
          text: reply.text && redaction.text(reply.text),
          due: reply.due,
        };
      }
      const verdict = await judge(turn, reply, redaction);
      if (verdict.kind !== 'refused') return { ...soFar(), ...verdict };
      const part = redaction.part();
      const errors = verdict.errors.map((error) => part.text(error));
      const text = part.text(reply.text);
      attempts.push({ text, errors, usage: used ?? null, redacted: part.taken });
      const isLast = attempt >= turn.retries || reply.isFinal === true;
      const refused = { thread, role: request.role, attempt, errors, isLast };
      context.tell({ event: 'reply.refused', ...refused });
      if (isLast)
        return { kind: 'suspended', ...soFar(), ...giveUp(request.role, { ...reply, text }, errors, attempt + 1) };
      prompt = askAgain(request.promptWithoutSession, errors, reply.session !== undefined);
    }
  } finally {
    clock.stop();
    await closeAgent(context, turn);
    await turn.calls.close();
    if (stepDir !== undefined) removeStepFolder(stepDir);
  }
}

/** What an agent kept running over the tries ends with the turn, which stands whatever becomes of that. */
async function closeAgent(context: EngineContext, { agent, request }: TurnRequest): Promise<void> {
  try {
    await agent.close?.();
  } catch (error) {
    context.debug(parseThreadId(request.threadId), 'agent-not-closed', { reason: String(error) });
  }
}

type Reply = Exclude<AgentReply, { kind: 'suspend' }>;
/** An agent's suspension, or the engine's own when a clock ran out. */
type Suspension = Omit<Extract<AgentReply, { kind: 'suspend' }>, 'cause'> & { cause: SuspendCause };

async function runAgent(
  context: EngineContext,
  turn: TurnRequest,
  listener: TurnListener,
  request: Omit<AgentRequest, 'signal' | 'emit'>,
): Promise<Reply | Suspension> {
  const { clock } = turn;
  let session: string | undefined;
  try {
    const running = turn.agent.run({ ...request, signal: clock.signal, emit: (event) => listener.hear(event) });
    // Should it go on after nobody waits any more, then how it ends is nobody's trouble.
    running.catch(() => {});
    const reply = await Promise.race([running, graceAfter(clock.signal)]);
    // An agent that was told to stop may still answer; a clock that ran out has decided all the same.
    if (reply && !clock.signal.aborted) return reply;
    if (reply && reply.kind !== 'suspend' && listener.said === '') listener.hear({ kind: 'text', text: reply.text });
    session = reply?.session;
  } catch (error) {
    if (error instanceof DepthExceeded) return { kind: 'suspend', cause: 'limit', reason: error.message };
    if (!clock.signal.aborted) return afterError(error, request.attempt > 0 || listener.hasHeardAnswer, listener.said);
  }
  const { failure, ranOut } = clock;
  if (failure !== undefined) throw failure;
  if (ranOut === undefined) throw new Interrupted(turn.request.threadId, context.signal.reason);
  const cause = ranOut instanceof BudgetExceeded ? 'limit' : 'timeout';
  return {
    kind: 'suspend',
    cause,
    reason: ranOut.message,
    text: listener.said,
    ...(session !== undefined && { session }),
  };
}

/**
 * Comes to an end some time after a signal: nobody waits for ever for an agent that does not listen to it. Longer than
 * the agents of uwf take to end their processes.
 */
async function graceAfter(signal: AbortSignal): Promise<undefined> {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  await sleep(ABORT_GRACE_MS, undefined, { ref: false });
  return undefined;
}

/**
 * What an agent throws is a failed try, unless another try cannot help. Then the thread waits where the agent has said
 * something, for that has been paid for; where it has not, nothing is stored.
 */
function afterError(error: unknown, hasSpoken: boolean, said: string): Reply | Suspension {
  const needsPerson = error instanceof RequestRefused || (error instanceof UwfError && error.kind === 'agent');
  if (needsPerson && hasSpoken) {
    const reason = error.hint === undefined ? error.message : `${error.message}; ${error.hint}`;
    return { kind: 'failed-attempt', reason, text: said, isFinal: true };
  }
  if (error instanceof UwfError && error.kind !== 'data') throw error;
  const reason = error instanceof Error ? error.message : String(error);
  return { kind: 'failed-attempt', reason, text: '' };
}

type Verdict =
  | { kind: 'refused'; errors: readonly string[] }
  | Pick<
      Extract<TurnResult, { kind: 'done' }>,
      'kind' | 'meta' | 'text' | 'agentVersion' | 'stopReason' | 'childThreads'
    >
  | Pick<Extract<TurnResult, { kind: 'suspended' }>, 'kind' | 'cause' | 'reason' | 'text'>;

async function judge(turn: TurnRequest, reply: Reply, redaction: Redaction): Promise<Verdict> {
  if (reply.kind === 'failed-attempt') return { kind: 'refused', errors: [reply.reason] };
  const { outputSchema } = turn.request;
  const extraction = await extractReply(reply.text, outputSchema, reply.meta, (meta, body) => ({
    meta: redaction.value(meta, schemaWords(outputSchema)),
    body: redaction.text(body),
  }));
  if (extraction.kind === 'suspend') {
    return { kind: 'suspended', cause: 'agent', reason: extraction.reason, text: redaction.text(reply.text) };
  }
  if (extraction.kind === 'invalid') return { kind: 'refused', errors: extraction.errors };
  let faults: readonly string[];
  try {
    faults = [...(await turn.findFaults(extraction.meta)), ...(await turn.calls.findFaults(reply.childThreads ?? []))];
  } catch (error) {
    // It is not the reply that is at fault: another one would be paid for in vain, and this one has been.
    const what = redaction.text(error instanceof Error ? error.message : String(error));
    const reason = error instanceof CheckFailed ? what : `the reply could not be checked: ${what}`;
    return { kind: 'suspended', cause: 'invalid-reply', reason, text: redaction.text(reply.text) };
  }
  if (faults.length > 0) return { kind: 'refused', errors: faults };
  return {
    kind: 'done',
    meta: extraction.meta,
    text: extraction.body,
    agentVersion: reply.agentVersion && redaction.text(reply.agentVersion),
    stopReason: reply.stopReason && redaction.text(reply.stopReason),
    childThreads: turn.calls.taken(reply.childThreads ?? []),
  };
}

/** The name of a session, unless there is a secret in it: the agent would not know it by another one. */
function clean(redaction: Redaction, session: string | undefined): string | undefined {
  return session !== undefined && redaction.text(session) === session ? session : undefined;
}

/** What came in pieces was redacted in pieces: what they make together is seen only now. */
function cleanTrace(redaction: Redaction, trace: TraceDraft | undefined): TraceDraft | undefined {
  return trace && redaction.value(trace);
}

function giveUp(
  role: string,
  reply: Reply,
  errors: readonly string[],
  tries: number,
): { cause: SuspendCause; reason: string; text: string } {
  const again = reply.isFinal === true ? '; it is not run again until the thread is resumed' : '';
  const { text } = reply;
  if (reply.kind === 'failed-attempt') {
    return { cause: 'agent', reason: `${failureReason(role, tries, errors)}${again}`, text };
  }
  const times = tries === 1 ? '' : ` in ${tries} tries`;
  const reason = `${role} gave no acceptable reply${times}: ${errors.join('; ')}${again}`;
  return { cause: 'invalid-reply', reason, text };
}

function askAgain(prompt: string, errors: readonly string[], isSameSession: boolean): string {
  const list = errors.map((error) => `- ${error}`).join('\n');
  const correction = `# Your last reply was not accepted\n\n${list}\n\nGive the whole reply again, corrected.\n`;
  // Without a session the agent has forgotten everything it was told.
  return isSameSession ? correction : `${prompt}\n${correction}`;
}
