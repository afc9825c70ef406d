import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import type { PastSteps } from '../../moderator/decision.ts';
import { readTextAt } from '../../thread/thread-commit.ts';
import { readChain, readRoles } from '../../thread/thread-chain.ts';
import { standIns, stepView, type StepView } from '../../thread/step-view.ts';
import { ThreadMemory } from '../../thread/context/context-history.ts';
import type { ThreadState } from '../../thread/thread-state.ts';

type Place = Pick<ThreadState, 'head' | 'start' | 'last' | 'tally'>;

/** A step that was read, and its commit. */
type ReadStep = { id: ObjectId; number: number; view: StepView };

/** Consecutive steps, oldest first: the newest ones of the last decision, and all up to one. */
type ReadSteps = { newest: readonly ReadStep[]; all: readonly ReadStep[] };

/** What a command has read of a thread. Commits never change, and a run decides after every step. */
type Memory = {
  withTexts: ReadSteps;
  withoutTexts: ReadSteps;
};

const memories = new ThreadMemory<Memory>();

/**
 * The steps of a thread for its rules. Each rule reads no more than it can see: what it sees of the newest steps, of counts,
 * and of a role's first and last step costs the same however long the thread is.
 * @param imagined where they are read, if the newest step is not stored yet
 */
export function pastSteps(repository: Repository, state: Place, imagined: Repository = repository): PastSteps {
  const from = { repository, imagined };
  return {
    lastRole: state.last?.node.role,
    async seenBy({ newest, counts, visits, ends, members }) {
      if (members !== undefined) {
        const isTold = members.has('text') || newest > 0;
        return { steps: await readViews(from, state, 'all', isTold, Infinity) };
      }
      const steps = await readViews(from, state, 'newest', true, newest);
      const seen = { steps: counts ? [...standIns(state.tally.roles, steps), ...steps] : steps };
      if (!visits && !ends) return seen;
      return { ...seen, roles: await readRoles(imagined, state, ends) };
    },
  };
}

function memoryOf(repository: Repository, thread: Place): Memory {
  const known = memories.get(repository, thread);
  if (known !== undefined) return known;
  const none = (): ReadSteps => ({ newest: [], all: [] });
  const memory: Memory = { withTexts: none(), withoutTexts: none() };
  memories.set(repository, thread, memory);
  return memory;
}

/** Reads the newest steps, or all, oldest first: those that are new since the last decision. */
async function readViews(
  { repository, imagined }: { repository: Repository; imagined: Repository },
  state: Place,
  which: keyof ReadSteps,
  hasTexts: boolean,
  count: number,
): Promise<StepView[]> {
  if (count === 0 || state.last === undefined) return [];
  // Steps that were read without their texts do not serve a rule that looks at them.
  const memory = memoryOf(repository, state)[hasTexts ? 'withTexts' : 'withoutTexts'];
  memory[which] = await readBack(imagined, state, memory[which], hasTexts, count);
  return memory[which].map(({ view }) => view);
}

/**
 * Reads steps from the newest back.
 * @param known consecutive steps that were read before
 * @param count how many at most
 */
async function readBack(
  repository: Repository,
  state: Place,
  known: readonly ReadStep[],
  hasTexts: boolean,
  count: number,
): Promise<readonly ReadStep[]> {
  const wanted = Math.min(count, state.tally.steps);
  const newer: ReadStep[] = [];
  for await (const commit of readChain(repository, (state.last ?? state.start).id)) {
    if (commit.kind !== 'step') continue;
    const { number } = commit.node;
    const place = number - (known[0]?.number ?? number);
    if (known[place]?.id === commit.id && newer.length + place + 1 >= wanted) {
      return [...known.slice(0, place + 1), ...newer.toReversed()].slice(-wanted);
    }
    const text = hasTexts ? await readTextAt(repository, commit, 'output.md') : '';
    newer.push({ id: commit.id, number, view: await stepView(repository, state, { commit, text }) });
    if (newer.length >= wanted) break;
  }
  return newer.toReversed();
}
