import type { EngineContext } from '../engine/engine-context.ts';
import type { MoreLimits } from '../schema/built-in/thread-resume.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import type { WaitingThreads } from './live/waiting-threads.ts';

/**
 * What a page with `--write` may do: the operations of the engine. A call returns when what it does is stored, or when the
 * run that it started goes on by itself; a refusal is thrown.
 */
export type WebActions = {
  resume(thread: ThreadId, given: { answer?: string | undefined; more?: MoreLimits | undefined }): Promise<void>;
};

/** What every page needs: the repository, and what its visitors may do. */
export type Site = {
  engine: EngineContext;
  waiting: WaitingThreads;
  /** The repository's name, for titles. */
  name: string;
  /** Absent if the page only shows. */
  actions: WebActions | undefined;
};

/** A request of a browser that is logged in. */
export type Visit = {
  site: Site;
  url: URL;
  nowMs: number;
  /** What a form carries, so that no page of another site can send it. */
  formToken: string;
};
