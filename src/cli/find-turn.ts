import type { Repository } from '../git/repository.ts';
import { isOfType } from '../schema/built-in.ts';
import { repositoryNodes } from '../cas/lookup/repository-nodes.ts';
import { isNodeHash } from '../cas/hash.ts';
import { readChain } from '../thread/chain.ts';
import { getThread, listPointers } from '../thread/find-thread.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import type { CommitOf } from '../thread/thread-state.ts';
import type { CliContext } from './context.ts';
import { findHash } from './find-hash.ts';
import { isStepNumber } from './find-step.ts';
import { UsageError } from './usage-error.ts';

/** The commit of a turn: of a step, or of the suspension that a turn ended in. */
export type FoundTurn = { thread: ThreadId; commit: CommitOf<'step' | 'suspend'> };

/**
 * Finds the step or suspension that a command line means: with a thread a step's number, a hash, or without either the
 * newest; without a thread a hash. Of the thread no more is read than the way there.
 *
 * @throws {UsageError} if there is none, or several
 */
export async function findTurn(
  cli: CliContext,
  repository: Repository,
  text: string | undefined,
  thread: string | undefined,
): Promise<FoundTurn> {
  const isNumber = text !== undefined && isStepNumber(text);
  const owner = thread ?? (text === undefined || isNumber ? cli.env['UWF_THREAD'] || undefined : undefined);
  if (owner !== undefined) return findIn(repository, owner, text);
  if (text === undefined || isNumber) {
    throw new UsageError('a step of which thread?', 'name the thread with --thread, or give the hash of the step');
  }
  const hash = await findHash(repository, text, async (candidate) => {
    const type = (await repositoryNodes(repository).find(candidate))?.type;
    return type !== undefined && (isOfType(type, 'thread-step') || isOfType(type, 'thread-suspend'));
  });
  for (const { id, head } of (await listPointers(repository)).toReversed()) {
    for await (const commit of readChain(repository, head)) {
      if (isTurn(commit) && commit.hash === hash) return { thread: id, commit };
    }
  }
  throw new UsageError(`no thread has a step '${text}'`, "run 'uwf step list <thread>' to see its steps");
}

async function findIn(repository: Repository, thread: string, text: string | undefined): Promise<FoundTurn> {
  const { id, head } = await getThread(repository, thread);
  const wanted = text?.toUpperCase();
  const matches: FoundTurn[] = [];
  for await (const commit of readChain(repository, head)) {
    if (!isTurn(commit) || !isMeant(commit, wanted)) continue;
    matches.push({ thread: id, commit });
    // Only the beginning of a hash can mean several.
    if (wanted === undefined || isNodeHash(wanted) || isStepNumber(wanted)) break;
  }
  const [first, second] = matches;
  if (second) throw new UsageError(`'${text}' could be any of ${matches.length} steps`, 'give more characters');
  if (first) return first;
  throw new UsageError(
    text === undefined ? `thread ${id} has no steps yet` : `thread ${id} has no step '${text}'`,
    `'uwf step list ${id}' lists them`,
  );
}

function isTurn(commit: { kind: string }): commit is CommitOf<'step' | 'suspend'> {
  return commit.kind === 'step' || commit.kind === 'suspend';
}

function isMeant(commit: CommitOf<'step' | 'suspend'>, wanted: string | undefined): boolean {
  if (wanted === undefined) return true;
  if (isStepNumber(wanted)) return commit.kind === 'step' && commit.node.number === Number(wanted);
  return wanted !== '' && commit.hash.startsWith(wanted);
}
