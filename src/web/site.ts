import { basename, dirname } from 'node:path';
import type { EngineContext } from '../engine/engine-context.ts';
import type { Answer } from '../engine/verbs/ask.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import type { Repository } from '../git/repository.ts';
import type { MoreLimits } from '../schema/built-in/schema-parts.ts';
import type { Redactor } from '../redaction/redactor.ts';
import type { SecretScan } from '../thread/secret-scan.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import type { WaitingThreads } from './live/waiting-threads.ts';

/** What a person gives a thread to go on with. */
export type GivenToGoOn = { answer?: string | undefined; more?: MoreLimits | undefined };

/** A thread with the head that a person had before them. */
export type SeenThread = { id: ThreadId; head: ObjectId };

/**
 * What a page with `--write` may do: the operations of the engine. A call returns when what it does is stored, or when the
 * run that it started goes on by itself; a refusal is thrown.
 *
 * `seen` is the head that the person had before them: a thread that has another one is left as it is.
 */
export type WebActions = {
  /**
   * Lets a thread go on that is suspended, was cut off, or has not run yet.
   * @param others whose question it is as well: the child that asks, and the callers that wait for it. If one of them has
   * gone on, or a process works on it, nothing is done
   */
  resume(thread: ThreadId, given: GivenToGoOn, seen: ObjectId, others: readonly SeenThread[]): Promise<void>;
  /** Has the newest step done again. */
  poke(thread: ThreadId, word: string, seen: ObjectId): Promise<void>;
  /** @param step the number of the step behind which the fork begins; 0 is the start; default: the head */
  fork(thread: ThreadId, step: number | undefined): Promise<ThreadId>;
  /** @param step the number of the step whose agent is asked; default: the last */
  ask(thread: ThreadId, question: string, step: number | undefined): Promise<Answer>;
  cancel(thread: ThreadId, reason: string | undefined): Promise<void>;
  stop(thread: ThreadId): Promise<void>;
  /** Starts a thread of a workflow by its name, and runs it. */
  start(workflow: string, prompt: string): Promise<ThreadId>;
};

/** What every page needs: the repository, and what its visitors may do. */
export type Site = {
  engine: EngineContext;
  waiting: WaitingThreads;
  /** The repository's name, for titles. */
  name: string;
  /** Absent if the page only shows. */
  actions: WebActions | undefined;
  /** Finds what a push would refuse, so that pages mark it; absent where nothing is marked. */
  secrets?: { redactor: Redactor; scan: SecretScan };
};

/** A request of a browser that is logged in. */
export type Visit = {
  site: Site;
  url: URL;
  nowMs: number;
  /** What a form carries, so that no page of another site can send it. */
  formToken: string;
};

/** What a repository is called in titles: its folder. */
export function repositoryName({ location }: Repository): string {
  if (location === undefined) return 'repository';
  const { workTree, commonDir } = location;
  return basename(workTree ?? (basename(commonDir) === '.git' ? dirname(commonDir) : commonDir));
}
