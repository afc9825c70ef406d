import { type FSWatcher, statSync, watch } from 'node:fs';
import { join } from 'node:path';
import type { EngineContext } from '../../engine/engine-context.ts';
import { type JournalPlace, type JournalReader, openJournal } from '../../engine/journal/read-journal.ts';
import type { Repository } from '../../git/repository.ts';
import { orElse, tryTo } from '../../or-else.ts';
import { isThreadId, type ThreadId } from '../../thread/thread-id.ts';
import type { LiveEvent, TurnPart } from './live-event.ts';
import { addPart, isTurning, partOf } from './running-turn.ts';
import { isTopic, stateOf } from './topics.ts';
import type { WaitingThreads } from './waiting-threads.ts';

/** What a browser shows: topics with the state that it shows, threads with the place in the journal that it has reached. */
export type Shown = {
  states: Map<string, string>;
  journals: Map<ThreadId, JournalPlace | undefined>;
};

/** One stream shows so many things at most: several tabs, not a scan of all threads. */
const MAX_TOPICS = 64;

/** Reads what a browser shows from the query of its stream: `state=<topic>@<state>`, `journal=<thread>@<place>`. */
export function shownIn(query: URLSearchParams): Shown {
  const states = new Map<string, string>();
  for (const text of query.getAll('state').slice(0, MAX_TOPICS)) {
    const [topic = '', state = ''] = text.split('@');
    if (topic === 'waiting' || isTopic(topic)) states.set(topic, state);
  }
  const journals = new Map<ThreadId, JournalPlace | undefined>();
  for (const text of query.getAll('journal').slice(0, MAX_TOPICS)) {
    const [, thread = '', generation, offset] = /^(\w+)@(?:([\d-]+):(\d{1,15}))?$/.exec(text) ?? [];
    if (!isThreadId(thread)) continue;
    journals.set(thread, generation === undefined ? undefined : { generation, offset: Number(offset) });
  }
  return { states, journals };
}

/** Tells browsers what changes in what they show. It watches the repository while there is a stream, and keeps no history. */
export class Live {
  readonly #engine: EngineContext;
  readonly #waiting: WaitingThreads;
  readonly #streams = new Set<Stream>();
  #watcher: { close(): void } | undefined;

  constructor(engine: EngineContext, waiting: WaitingThreads) {
    this.#engine = engine;
    this.#waiting = waiting;
    waiting.onRead = () => this.#check();
  }

  get streams(): number {
    return this.#streams.size;
  }

  /** Tells of changes until the signal is aborted: first how what is shown differs from how things are. */
  open(shown: Shown, send: (event: LiveEvent) => void, signal: AbortSignal): void {
    const stream = new Stream(this.#engine, shown, send);
    this.#streams.add(stream);
    this.#watcher ??= watchRepository(this.#engine.repository, () => this.#check());
    signal.addEventListener('abort', () => {
      this.#streams.delete(stream);
      stream.close();
      if (this.#streams.size > 0) return;
      this.#watcher?.close();
      this.#watcher = undefined;
    });
    stream.check(this.#states());
  }

  #check(): void {
    const states = this.#states();
    for (const stream of this.#streams) stream.check(states);
  }

  /** States of topics, each computed once for all streams. */
  #states(): (topic: string) => Promise<string> {
    const known = new Map<string, Promise<string>>();
    return (topic) => {
      const state = known.get(topic) ?? (topic === 'waiting' ? this.#waiting.state() : stateOf(this.#engine, topic));
      known.set(topic, state);
      return state;
    };
  }
}

/** What one browser shows, and what it was told. */
class Stream {
  readonly #shown: Shown;
  readonly #send: (event: LiveEvent) => void;
  readonly #journals: Map<ThreadId, JournalReader>;
  /** Checks follow one another, so that no old state is told after a new one. */
  #last: Promise<void> = Promise.resolve();
  /** Of the check that waits. */
  #next: ((topic: string) => Promise<string>) | undefined;
  #isClosed = false;

  constructor({ repository }: EngineContext, shown: Shown, send: (event: LiveEvent) => void) {
    this.#shown = shown;
    this.#send = send;
    this.#journals = new Map(
      [...shown.journals].map(([thread, place]) => [thread, openJournal(repository, thread, place)]),
    );
  }

  /** Tells what has changed. Of several checks that wait, the newest is enough. */
  check(stateNow: (topic: string) => Promise<string>): void {
    // Words are told at once: states take a while after a change.
    // A journal that cannot be read is tried again: this is in a timer, and an error would end the server.
    for (const [thread, journal] of this.#journals) tryTo(() => this.#tellWords(thread, journal));
    const isWaiting = this.#next !== undefined;
    this.#next = stateNow;
    if (isWaiting) return;
    this.#last = this.#last.then(async () => {
      const stateOfTopic = this.#next;
      this.#next = undefined;
      if (this.#isClosed || stateOfTopic === undefined) return;
      const topics = [...this.#shown.states].map(([topic, state]) => ({ topic, state, coming: stateOfTopic(topic) }));
      for (const { topic, state, coming } of topics) {
        const now = await coming;
        if (now === state) continue;
        this.#shown.states.set(topic, now);
        this.#tell({ event: 'state', topic, state: now });
      }
    });
  }

  close(): void {
    this.#isClosed = true;
    for (const journal of this.#journals.values()) journal.close();
  }

  #tellWords(thread: ThreadId, journal: JournalReader): void {
    const from = placeText(journal.place() ?? this.#shown.journals.get(thread));
    const parts: TurnPart[] = [];
    const entries = journal.next();
    let hasTurned = journal.hasGap();
    for (const entry of entries) {
      hasTurned ||= isTurning(entry);
      addPart(parts, partOf(entry));
    }
    if (hasTurned) this.#tell({ event: 'turn', thread });
    else if (parts.length > 0) this.#tell({ event: 'words', thread, from, place: placeText(journal.place()), parts });
  }

  #tell(event: LiveEvent): void {
    if (!this.#isClosed) this.#send(event);
  }
}

/** A place as a page and the query of a stream have it. */
export function placeText(place: JournalPlace | undefined): string {
  return place === undefined ? '' : `${place.generation}:${place.offset}`;
}

/** Changes that no watcher has told, such as a process that died, are noticed after this time. */
const POLL_MS = 5_000;
/** Changes that come together are told as one. */
const GATHER_MS = 20;

/**
 * Calls back when something may have changed: refs, leases, journals. It says neither what nor whether for certain.
 *
 * Watches folders, and looks by itself every few seconds: a file system may tell nothing.
 */
export function watchRepository(repository: Repository, onChange: () => void): { close(): void } {
  const watched = new Map<string, { watcher: FSWatcher; identity: string }>();
  let gathering: NodeJS.Timeout | undefined;
  const notice = (): void => {
    gathering ??= setTimeout(() => {
      gathering = undefined;
      watchFolders();
      onChange();
    }, GATHER_MS);
  };
  const watchFolders = (): void => {
    for (const folder of foldersOf(repository)) {
      // An error, such as one of permissions, is here in a timer: it would end the server.
      const stat = orElse(() => statSync(folder, { throwIfNoEntry: false }), undefined);
      // A folder that is made again often gets the inode of the one before.
      const identity = stat && `${stat.ino} ${stat.birthtimeMs}`;
      const known = watched.get(folder);
      if (known?.identity === identity) continue;
      // git removes folders of refs that become empty, and makes them again.
      known?.watcher.close();
      watched.delete(folder);
      const watcher = identity === undefined ? undefined : orElse(() => watch(folder, notice), undefined);
      // Where this system allows no more watchers, the poll finds the changes.
      if (watcher !== undefined && identity !== undefined)
        watched.set(folder, { watcher: watcher.on('error', () => {}), identity });
    }
  };
  watchFolders();
  const poll = setInterval(notice, POLL_MS);
  return {
    close() {
      clearInterval(poll);
      clearTimeout(gathering);
      for (const { watcher } of watched.values()) watcher.close();
    },
  };
}

/** Where refs, leases and journals lie. An ended thread leaves `refs/threads`, so the folders of days need no watcher. */
function foldersOf({ location, stateDir }: Repository): string[] {
  if (location === undefined || stateDir === undefined) return [];
  const { commonDir } = location;
  const refs = ['refs', 'refs/threads', 'refs/history'].map((name) => join(commonDir, name));
  return [commonDir, ...refs, stateDir, join(stateDir, 'leases'), join(stateDir, 'journal')];
}
