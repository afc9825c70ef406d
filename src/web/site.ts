// The room web: a request comes in and a page goes out. `routes` says who may ask for what, `pages` has one page for
// each address, `parts` what several pages show, `questions` what threads wait for and the forms for it, `drawing` the
// places of what is drawn. `live` tells browsers of changes, `browser` is what runs there, and `export` renders the
// same pages as files. A page runs no agent: what visitors do is handed in as `WebActions`. A thread may have moved
// while its page was open: then nothing is done, and what was typed is shown again.

import { basename, dirname } from 'node:path';
import type { EngineContext } from '../engine/engine-context.ts';
import type { Answer } from '../engine/verbs/ask.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import type { GitEnvironment, Repository } from '../git/repository.ts';
import type { Redactor } from '../redaction/redactor.ts';
import type { MoreLimits } from '../schema/built-in/schema-parts.ts';
import type { SecretScan } from '../thread/secret-scan.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import type { WaitingThreads } from './live/live.ts';

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

/**
 * What a visitor shows to be logged in. `once` is a token that is good for one visitor: it may be seen by others, as the
 * arguments of a program are.
 */
export type LoginSecret = { token: string; once?: string | undefined } | { password: string };

/** What the page of a repository needs beside it. */
export type WebOptions = {
  /** What visitors show to be logged in. A token can also be in the fragment of an address: `/#token=<token>`. */
  secret: LoginSecret;
  /**
   * Seals the sessions of browsers: 32 random bytes, which stay the same for as long as browsers are to be logged in.
   * Default: random, so that each handler has sessions of its own.
   */
  key?: Uint8Array | undefined;
  /** The name of the cookie. Cookies ignore ports, so it names the repository and the port. Default: `uwf` */
  cookie?: string | undefined;
  /** Names that the server is reached by, besides those of loopback; lower case, without a port. */
  hosts?: readonly string[] | undefined;
  /** The environment that git runs in; default: empty. */
  env?: GitEnvironment | undefined;
  /** What visitors may do; the page only shows where it is absent. */
  actions?: WebActions | undefined;
  /** Knows what is secret: pages mark what a push would refuse. Default: tokens of well-known providers. */
  redactor?: Redactor | undefined;
  /** Ends the streams of all browsers when it is aborted, so that a server can close. */
  signal?: AbortSignal | undefined;
};
