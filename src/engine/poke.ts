import { chooseRole, type RoleChoice } from './choose-role.ts';
import { hintToResume } from '../thread/hint-to-go-on.ts';
import type { Repository } from '../git/repository.ts';
import { findThread } from '../thread/find-thread.ts';
import { pokeIdFor } from '../thread/new-thread-id.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import { StoredInstead, WrongThreadState } from '../thread/thread-errors.ts';
import { statusOfHead } from '../thread/thread-status.ts';
import { committedAt, readThread, type StepEntry, type ThreadState } from '../thread/thread-state.ts';
import type { EngineContext, LeaseOptions } from './context.ts';
import { decisionContext } from './decision-context.ts';
import { definitionOf } from './definition-of.ts';
import { inSlot } from './slots.ts';
import { runChoice, storeKept, type StepResult, type TurnWish } from './step.ts';
import { outcomeOf, type StepOutcome } from './step-thread.ts';
import type { Lease } from './lease.ts';
import { tellTaken } from './tell-taken.ts';
import { withLease } from './with-thread.ts';

export type PokeOptions = LeaseOptions & Pick<TurnWish, 'agent'>;

/** Has the newest step of a thread done again, with more to say; see `Engine.poke`. */
export async function pokeThread(
  context: EngineContext,
  thread: string,
  word: string,
  options: PokeOptions = {},
): Promise<StepOutcome> {
  return withLease(context, thread, options.adoptLease, async (current, lease) => {
    const kept = await storeKept(context, current);
    // What a person says is about a step that they have seen.
    if (kept) throw new StoredInstead(kept.state.id);
    const step = getNewestStep(current);
    const redaction = context.redaction();
    const said = redaction.text(word);
    tellTaken(context, { thread: current.id, role: null }, redaction);
    const result = await inSlot(context, current, () => redo(context, lease, current, step, said, options.agent));
    return outcomeOf(context, result, true);
  });
}

async function redo(
  context: EngineContext,
  lease: Lease,
  current: ThreadState,
  step: StepEntry,
  word: string,
  agent: string | undefined,
): Promise<StepResult> {
  const { repository } = context;
  const [previous = current.start.id] = step.commit.commit.parents;
  const before = await readThread(repository, current.id, previous);
  const definition = await definitionOf(context, before);
  const decisions = await decisionContext(repository, before, definition.name);
  const { role, rule } = step.commit.node;
  const decided = await chooseRole(context, definition, decisions, before, rule === null ? role : undefined);
  // The rule that gave the turn gives it again, with all that it says.
  const isSame = !('kind' in decided) && decided.role === role && decided.rule === rule;
  const choice: RoleChoice = isSame ? decided : { role, rule, prompt: undefined, location: undefined };
  return runChoice(context, lease, before, definition, decisions, {
    ...choice,
    agent,
    again: { step, word, as: await findPokeId(repository, current.id, step) },
  });
}

/** The id of the turn that does a step again: after a crash that of the turn which was cut off. */
async function findPokeId(repository: Repository, thread: ThreadId, { commit: step }: StepEntry): Promise<ThreadId> {
  for (let ordinal = 0; ; ordinal += 1) {
    const id = pokeIdFor(thread, committedAt(step), ordinal);
    if ((await findThread(repository, id)) === undefined) return id;
  }
}

/** @throws {WrongThreadState} if the thread does not stand at a step */
function getNewestStep(state: ThreadState): StepEntry {
  const step = state.steps.at(-1);
  if (step !== undefined && step.commit.id === state.head.id) return step;
  const status = statusOfHead(state.head, false);
  const { id } = state;
  if (state.end) {
    throw new WrongThreadState(
      id,
      status,
      'what has ended is not changed any more',
      `fork it with 'uwf thread fork ${id}', and poke the fork`,
    );
  }
  if (state.head.kind === 'suspend') {
    const { node } = state.head;
    throw new WrongThreadState(id, status, `${node.role} waits for you`, hintToResume(id, node));
  }
  const what = step === undefined ? 'no role has done anything yet' : 'its last turn is not done yet';
  throw new WrongThreadState(id, status, what, `run 'uwf thread step ${id}'`);
}
