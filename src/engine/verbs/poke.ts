import { UwfError } from '../../errors.ts';
import type { Repository } from '../../git/repository.ts';
import { findCalledNow, findPokeId } from '../../thread/find-children.ts';
import { readTextAt } from '../../thread/thread-commit.ts';
import {
  hintToResume,
  readState,
  statusOfHead,
  type StepEntry,
  type ThreadState,
  withLeft,
} from '../../thread/thread-state.ts';
import { usageOfLeft } from '../limits/allowance.ts';
import { WrongThreadState } from '../../thread/thread-errors.ts';
import type { EngineContext, LeaseOptions } from '../engine-context.ts';
import type { Lease } from '../leases/lease.ts';
import { inSlot, withThread } from '../leases/with-thread.ts';
import { tellTaken } from '../engine-context.ts';
import { chooseAgain, openStep } from '../turn/decide.ts';
import type { ChosenStep, RoleChoice, StepOutcome, TurnWish } from '../turn/step.ts';
import { storePending, takeChosenStep } from '../turn.ts';

export type PokeOptions = LeaseOptions & Pick<TurnWish, 'agent'>;

/** See `Engine.poke`. */
export async function pokeThread(
  engine: EngineContext,
  thread: string,
  word: string,
  options: PokeOptions = {},
): Promise<StepOutcome> {
  return withThread(engine, thread, options.adoptLease, async (current, lease) => {
    const kept = await storePending(engine, current);
    // The person's word is about a step that they have seen, and they have not seen this one.
    if (kept) {
      const { id } = current;
      throw new UwfError(`a reply that was kept for thread ${id} has been stored now; nothing else was done`, {
        code: 'stored-instead',
        kind: 'conflict',
        hint: `read it with 'uwf thread read ${id}', and repeat if you still want to`,
        facts: { thread: id },
      });
    }
    const step = await readNewestStep(engine.repository, current);
    const redaction = engine.redaction();
    const said = redaction.text(word);
    tellTaken(engine, { thread: current.id, role: null }, redaction);
    return inSlot(engine, current, async (inner) => {
      const again = { step, word: said, as: await findPokeId(engine.repository, current.id, step.commit) };
      const chosen = await stepAgain(inner, lease, current, { agent: options.agent, again });
      return (await takeChosenStep(chosen)).outcome;
    });
  });
}

/** The thread as it was before its newest step, with the role that took that step. */
async function stepAgain(
  engine: EngineContext,
  lease: Lease,
  current: ThreadState,
  wish: Pick<RoleChoice, 'agent'> & Required<Pick<RoleChoice, 'again'>>,
): Promise<ChosenStep> {
  const { commit, node } = wish.again.step.commit;
  const [previous = current.start.id] = commit.parents;
  const before = await readState(engine.repository, current.id, previous);
  // The children of a turn that was cut off after the step are left with it.
  const tally = withLeft(
    current.tally,
    await usageOfLeft(engine.repository, current, await findCalledNow(engine.repository, current, current.id)),
  );
  const poking = { as: wish.again.as, state: { ...current, last: before.last, tally } };
  const step = await openStep({ ...engine, poking }, before);
  return { ...step, lease, choice: { ...(await chooseAgain(step, node)), ...wish } };
}

async function readNewestStep(repository: Repository, state: ThreadState): Promise<StepEntry> {
  if (state.head.kind === 'step') {
    return { commit: state.head, text: await readTextAt(repository, state.head, 'output.md') };
  }
  const status = statusOfHead(state.head);
  const { id } = state;
  if (state.end) {
    const hint = `fork it with 'uwf thread fork ${id}', and poke the fork`;
    throw new WrongThreadState(id, status, 'what has ended is not changed any more', hint);
  }
  if (state.head.kind === 'suspend') {
    const { node } = state.head;
    throw new WrongThreadState(id, status, `${node.role} waits for you`, hintToResume(id, node));
  }
  const what = state.last === undefined ? 'no role has done anything yet' : 'its last turn is not done yet';
  throw new WrongThreadState(id, status, what, `run 'uwf thread step ${id}'`);
}
