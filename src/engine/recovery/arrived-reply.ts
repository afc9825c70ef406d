import type { AttemptDraft } from '../../thread/draft-commit.ts';
import type { TraceDraft } from '../../thread/step-trace.ts';
import type { Telling } from '../engine-context.ts';
import { type TryReply, wholeText } from '../turn/accept.ts';
import type { ChosenStep } from '../turn/step.ts';
import { findOpenTurns, type OpenTurn, seal, type Sealed, unseal } from './turn-log.ts';

/** A reply as its agent gave it, and what belongs to it. */
export type ArrivedReply = { reply: TryReply; session: string | undefined; trace: TraceDraft | undefined };

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
