import type { AgentReply } from '../../agent/contract.ts';
import { extractReply, renderFields } from '../../agent/extract/extract-reply.ts';
import { messageOf } from '../../errors.ts';
import type { JsonObject } from '../../json.ts';
import { CheckFailed, checkReply } from '../../moderator/decide.ts';
import type { SuspendCause } from '../../schema/built-in/thread-start.ts';
import { collectRefs } from '../../schema/find-links.ts';
import { schemaWords } from '../../schema/typed-schema.ts';
import type { AttemptDraft } from '../../thread/draft-commit.ts';
import type { TraceDraft } from '../../thread/step-trace.ts';
import { resolveLinks } from '../../thread/thread-cas.ts';
import { failureReason } from '../../thread/thread-state.ts';
import type { Telling } from '../engine-context.ts';
import { findOpenTurns, type OpenTurn, seal, type Sealed, unseal } from '../recovery/turn-log.ts';
import type { Redaction } from '../redact/redaction.ts';
import type { ChosenStep, PreparedStep, TurnEnd } from './step.ts';

/** The reply of one try. The engine itself also suspends, when a clock or a budget ran out. */
export type TryReply = Exclude<AgentReply, Suspension> | (Omit<Suspension, 'cause'> & { cause: SuspendCause });

type Suspension = Extract<AgentReply, { kind: 'suspend' }>;

export type RefusedTry = {
  kind: 'refused';
  /** The reply and what is wrong with it, without secrets. */
  attempt: Omit<AttemptDraft, 'usage'>;
  isFailed: boolean;
  /** True if another try would not help. */
  isFinal: boolean;
};

/**
 * Checks a reply: takes it apart, validates its meta against the role's schema, and runs the role's checks. The reply was
 * paid for, so this raises nothing: one that cannot be checked suspends the turn.
 * @param redaction takes secrets out of the reply before it is checked
 */
export async function acceptReply(
  step: PreparedStep,
  reply: TryReply,
  redaction: Redaction,
): Promise<TurnEnd | RefusedTry> {
  try {
    return await judge(step, reply, redaction);
  } catch (error) {
    // The reply is not at fault: another try would cost money and change nothing.
    return uncheckedReply(reply, error, redaction);
  }
}

/**
 * The end of a turn whose reply could not be checked, or not be stored as a step.
 * @param what says of the reply what the error kept from being done
 */
export function uncheckedReply(
  reply: ReplyParts,
  error: unknown,
  redaction: Redaction,
  what = 'could not be checked',
): TurnEnd {
  const message = redaction.text(messageOf(error));
  const reason = error instanceof CheckFailed ? message : `the reply ${what}: ${message}`;
  return { kind: 'suspended', cause: 'invalid-reply', reason, text: redaction.text(wholeText(reply)) };
}

type ReplyParts = { text?: string | undefined; meta?: JsonObject | undefined };

/** A reply in one text: fields that an agent reported apart from its text are front matter again. */
function wholeText({ text = '', meta }: ReplyParts): string {
  return meta === undefined ? text : `---\n${renderFields(meta)}---\n${text}`;
}

async function judge(step: PreparedStep, reply: TryReply, redaction: Redaction): Promise<TurnEnd | RefusedTry> {
  if (reply.kind === 'suspend') {
    const { cause, reason, text, due } = reply;
    return { kind: 'suspended', cause, reason: redaction.text(reason), text: text && redaction.text(text), due };
  }
  const refuse = (given: readonly string[]): RefusedTry => {
    const part = redaction.part();
    const errors = given.map((error) => part.text(error));
    const text = part.text(reply.text);
    const attempt = { text, errors, redacted: part.taken };
    return { kind: 'refused', attempt, isFailed: reply.kind === 'failed-attempt', isFinal: reply.isFinal === true };
  };
  if (reply.kind === 'failed-attempt') return refuse([reply.reason]);
  const { schema } = step.role;
  const extraction = await extractReply(reply.text, schema, reply.meta, (meta, body) => ({
    meta: redaction.value(meta, schemaWords(schema)),
    body: redaction.text(body),
  }));
  if (extraction.kind === 'suspend') {
    return { kind: 'suspended', cause: 'agent', reason: extraction.reason, text: redaction.text(reply.text) };
  }
  if (extraction.kind === 'invalid') return refuse(extraction.errors);
  const { meta, body } = extraction;
  const faults = [...(await findFaults(step, meta)), ...(await step.calls.findFaults(reply.childThreads ?? []))];
  if (faults.length > 0) return refuse(faults);
  return {
    kind: 'done',
    meta,
    text: body,
    agentVersion: reply.agentVersion && redaction.text(reply.agentVersion),
    stopReason: reply.stopReason && redaction.text(reply.stopReason),
    childThreads: step.calls.taken(reply.childThreads ?? []),
  };
}

/** Finds what a schema cannot see: links that lead nowhere, and what the role's own checks refuse. */
async function findFaults({ engine, state, role, decisions }: PreparedStep, meta: JsonObject): Promise<string[]> {
  const { missing } = await resolveLinks(engine.repository, state, collectRefs(role.schema, meta));
  const dangling = missing.map(
    (hash) => `${hash} is the hash of nothing; put the content first with 'uwf cas put', which prints its hash`,
  );
  return [...dangling, ...(await checkReply(role.check ?? [], { ...decisions, meta }))];
}

/** The end of a turn whose last try was refused. */
export function giveUp(role: string, { attempt, isFailed, isFinal }: RefusedTry, tries: number): TurnEnd {
  const { text, errors } = attempt;
  const again = isFinal ? '; it is not run again until the thread is resumed' : '';
  if (isFailed) {
    return { kind: 'suspended', cause: 'agent', reason: `${failureReason(role, tries, errors)}${again}`, text };
  }
  const times = tries === 1 ? '' : ` in ${tries} tries`;
  const reason = `${role} gave no acceptable reply${times}: ${errors.join('; ')}${again}`;
  return { kind: 'suspended', cause: 'invalid-reply', reason, text };
}

/** The prompt of the next try. Without a session the agent has forgotten what it was told, so it is told all again. */
export function askAgain(prompt: string, errors: readonly string[], isSameSession: boolean): string {
  const list = errors.map((error) => `- ${error}`).join('\n');
  const correction = `# Your last reply was not accepted\n\n${list}\n\nGive the whole reply again, corrected.\n`;
  return isSameSession ? correction : `${prompt}\n${correction}`;
}

/** A reply as its agent gave it, and what belongs to it. */
type ArrivedReply = { reply: TryReply; session: string | undefined; trace: TraceDraft | undefined };

/** A turn whose reply has arrived in a process that has ended since. */
export type ArrivedTurn = { turn: OpenTurn; arrived: ArrivedReply };

/** Encrypts a reply: it was not searched for secrets yet. */
export function sealArrived({ sealKey }: Pick<Telling, 'sealKey'>, arrived: ArrivedReply): Sealed {
  return seal(arrived, sealKey());
}

/**
 * Finds the reply that an earlier process got for the turn that is about to be taken, and did not live to store: no agent runs
 * for it. A person who wants another role or agent gets that.
 */
export async function findArrived({ engine, state, choice }: ChosenStep): Promise<ArrivedTurn | undefined> {
  const turn = (await findOpenTurns(engine.repository, state.id)).at(-1);
  const { again, role, agent } = choice;
  if (turn === undefined || turn.role !== role || (agent !== undefined && turn.agent.name !== agent)) return undefined;
  const isSame = turn.head === (again?.step.commit.id ?? state.head.id) && turn.again?.word === again?.word;
  const arrived = isSame ? readArrived(engine, turn) : undefined;
  return arrived && { turn, arrived };
}

function readArrived({ sealKey }: Pick<Telling, 'sealKey'>, { arrived }: OpenTurn): ArrivedReply | undefined {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- What was encrypted is what `sealArrived` was given.
  return arrived && (unseal(arrived, sealKey()) as ArrivedReply | undefined);
}

/** What is to be stored of a turn that will have no outcome of its own: its tries, of which the last was cut off. */
export function attemptsOf(engine: Telling, turn: OpenTurn): AttemptDraft[] {
  const { refused, used, arrivedAtMs, isHeld } = turn;
  const arrived = readArrived(engine, turn);
  // What a program does that reports nothing has no cost that could be lost.
  if (used === null && arrivedAtMs === undefined) return refused;
  const errors = [isHeld ? 'the turn was held, and is not stored' : 'the turn was interrupted'];
  const last = { errors, usage: used, interrupted: true } as const;
  if (arrived === undefined) return [...refused, { text: '', ...last }];
  const redaction = engine.redaction().passingPart();
  const text = redaction.text(wholeText(arrived.reply));
  const isClean = redaction.failure === undefined;
  return [...refused, { text: isClean ? text : '', ...last, redacted: redaction.taken }];
}
