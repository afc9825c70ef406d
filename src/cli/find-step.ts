import { listPointers } from '../thread/find-thread.ts';
import { readChain } from '../thread/chain.ts';
import { readThread, type StepEntry, type ThreadState } from '../thread/thread-state.ts';
import { repositoryNodes } from '../cas/lookup/repository-nodes.ts';
import type { Repository } from '../git/repository.ts';
import { builtIn } from '../schema/built-in.ts';
import type { TextOption } from './command.ts';
import type { CliContext } from './context.ts';
import { findHash } from './find-hash.ts';
import { openThread } from './open-thread.ts';
import { UsageError } from './usage-error.ts';

/** The option that says whose step is meant. */
export const ofThreadOption: TextOption = {
  short: 't',
  value: '<thread>',
  summary: 'the thread that the step belongs to; by default $UWF_THREAD',
  candidates: 'thread',
};

/**
 * Finds the step that a command line means: with a thread a number or a hash of that thread, without one a hash.
 *
 * @throws {UsageError} if there is none, or several
 */
export async function findStep(
  cli: CliContext,
  repository: Repository,
  step: string,
  thread: string | undefined,
): Promise<{ state: ThreadState; entry: StepEntry }> {
  const isNumber = isStepNumber(step);
  const owner = thread ?? (isNumber ? cli.env['UWF_THREAD'] || undefined : undefined);
  if (owner !== undefined) {
    const state = await openThread(repository, owner);
    return { state, entry: findStepIn(state, step) };
  }
  if (isNumber)
    throw new UsageError(`step ${step} of which thread?`, 'name it with --thread, or give the hash of the step');
  const hash = await findHash(repository, step, async (candidate) => {
    const node = await repositoryNodes(repository).find(candidate);
    return node?.type === builtIn['thread-step'];
  });
  for (const { id, head } of (await listPointers(repository)).toReversed()) {
    for await (const commit of readChain(repository, head)) {
      if (commit.hash !== hash) continue;
      const state = await readThread(repository, id, head);
      return { state, entry: findStepIn(state, hash) };
    }
  }
  throw new UsageError(`no thread has a step '${step}'`, "run 'uwf step list <thread>' to see its steps");
}

/**
 * Finds a step of a thread by its number or by the first characters of its hash.
 *
 * @throws {UsageError} if the thread has no such step, or several
 */
export function findStepIn(state: ThreadState, text: string): StepEntry {
  const wanted = text.toUpperCase();
  const matches = isStepNumber(text)
    ? state.steps.filter(({ commit }) => commit.node.number === Number(text))
    : state.steps.filter(({ commit }) => wanted !== '' && commit.hash.startsWith(wanted));
  const [first, second] = matches;
  if (second) throw new UsageError(`'${text}' could be any of ${matches.length} steps`, 'give more characters');
  if (first) return first;
  const { length } = state.steps;
  throw new UsageError(
    `thread ${state.id} has no step '${text}'`,
    length === 0 ? 'it has no steps yet' : `it has ${length}; 'uwf step list ${state.id}' lists them`,
  );
}

/** Tells whether a step is named by its number: nobody means a hash by so few digits. */
export function isStepNumber(text: string): boolean {
  return /^\d{1,6}$/.test(text);
}
