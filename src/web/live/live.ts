import { createHash, randomBytes } from 'node:crypto';
import { type FSWatcher, statSync, watch } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeThread } from '../../engine/describe/describe.ts';
import { listThreads, summaryOf } from '../../engine/describe/list-threads.ts';
import type { ThreadSummary } from '../../engine/describe/read-listed.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import { type JournalPlace, type JournalReader, openJournal } from '../../engine/journal/read-journal.ts';
import { findRunning } from '../../engine/leases/find-lease.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { CLOCK_STEP_MS, refTimes } from '../../git/stores/disk/read-refs.ts';
import { orElse, tryTo } from '../../or-else.ts';
import { findThread, listPointers } from '../../thread/find-thread.ts';
import { nothingForDataError } from '../../thread/thread-errors.ts';
import {
  ACTIVE_PREFIX,
  HISTORY_PREFIX,
  isThreadId,
  type ThreadId,
  type ThreadPointer,
} from '../../thread/thread-id.ts';
import type { ThreadStatus } from '../../thread/thread-state.ts';
import { addPart, isTurning, type LiveEvent, partOf, type TurnPart } from './running-turn.ts';

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

function isTopic(text: string): boolean {
  const threads = text.split('..');
  return text === 'threads' || (threads.length <= 2 && threads.every(isThreadId));
}

/** A state in which nothing is: it differs from every other. */
const GONE = 'gone';

/**
 * The state of what a page shows, as a short text. Two equal states mean that the page would be the same.
 *
 * The server keeps no history of changes: a browser says which state it shows, and is told when that is another.
 * @param topic `threads` for lists; the id of a thread; for two threads beside each other `<thread>..<thread>`
 */
export async function stateOf(engine: EngineContext, topic: string): Promise<string> {
  try {
    if (topic === 'threads') return await stateOfRefs(engine.repository);
    const [one = '', other] = topic.split('..');
    if (other !== undefined) return `${await stateOf(engine, one)}-${await stateOf(engine, other)}`;
    return stateOfText(JSON.stringify(await describeThread(engine, topic)));
  } catch {
    return GONE;
  }
}

async function stateOfRefs(repository: Repository): Promise<string> {
  const running = findRunning(repository).join(' ');
  return stateOfText(`${(await settledTimes(repository)) ?? randomBytes(8).toString('hex')} ${running}`);
}

/** The times of all refs of threads; `undefined` while they change, or without a disk: then every look is a change. */
async function settledTimes({ location }: Repository): Promise<string | undefined> {
  if (location === undefined) return undefined;
  for (let tries = 0; ; tries += 1) {
    // An error: git removes a folder that became empty while it is listed.
    const times = orElse(() => refTimes(location.commonDir, [ACTIVE_PREFIX, HISTORY_PREFIX]), undefined);
    if (times !== undefined || tries === 2) return times;
    await sleep(CLOCK_STEP_MS);
  }
}

function stateOfText(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 20);
}

/** A page does not wait longer than this for the threads that wait: it says that they are still being read. */
const MAX_WAIT_MS = 150;
/** The most of the time that is spent on reading threads, while threads change all the time. */
const SHARE = 0.3;

/** So many threads are looked at one by one; of more, those that are remembered are read together. */
const MAX_LOOKED_UP = 100;

const waitingStatuses: readonly ThreadStatus[] = ['suspended', 'interrupted'];

/** The threads that wait for a person, as far as they are known. */
type WaitingNow = { threads: readonly ThreadSummary[]; isRead: boolean };

/**
 * Knows which threads wait for a person. To find them, every active thread is looked at once, which takes seconds where there
 * are 100,000. After that only those are looked at that have another head, or whose process has begun or ended.
 */
export class WaitingThreads {
  /** Is called when threads were read, for those who were told of an earlier state. */
  onRead: () => void = () => {};
  readonly #engine: EngineContext;
  readonly #waiting = new Map<ThreadId, ThreadSummary>();
  /** The heads of all active threads when they were read; `undefined` before the first time. */
  #heads: ReadonlyMap<ThreadId, ObjectId> | undefined;
  #running: ReadonlySet<ThreadId> = new Set();
  /** The state of the repository's threads in which they were read. */
  #state = '';
  #reading: Promise<void> | undefined;
  #notBeforeMs = 0;

  constructor(engine: EngineContext) {
    this.#engine = engine;
  }

  /** Newest first; those of an earlier state as they are now. */
  async now(): Promise<WaitingNow> {
    const state = await stateOf(this.#engine, 'threads');
    // The page reads threads itself, and says what is wrong with them.
    if (state !== this.#state) this.#reading ??= this.#readSoon(state).catch(() => {});
    if (this.#reading !== undefined) await Promise.race([this.#reading, sleep(MAX_WAIT_MS, undefined, { ref: false })]);
    const isRead = this.#reading === undefined;
    const threads = [...this.#waiting.values()].toSorted((a, b) => (a.thread < b.thread ? 1 : -1));
    return { threads: state === this.#state ? threads : await this.#stillWaiting(threads), isRead };
  }

  /** The state of the topic `waiting`: how many questions there are, and which threads ask, such as `2.6f1d2a3b`. */
  async state(): Promise<string> {
    try {
      const now = await this.now();
      const suspended = now.threads.filter(({ status }) => status === 'suspended');
      const heads = suspended.map(({ thread, head }) => `${thread} ${head}`).join('\n');
      return `${await this.#countQuestions(suspended)}.${stateOfText(heads).slice(0, 8)}`;
    } catch {
      // What cannot be read, pages say; and a state that is not known changes nothing.
      return '';
    }
  }

  /** The question of a child is that of its caller, too, and of the caller of that. */
  async #countQuestions(suspended: readonly ThreadSummary[]): Promise<number> {
    const callers = suspended.filter(({ cause }) => cause === 'child').slice(0, MAX_LOOKED_UP);
    const views = await Promise.all(
      callers.map(({ thread }) => describeThread(this.#engine, thread).catch(nothingForDataError)),
    );
    return suspended.length - views.filter((view) => view !== undefined && view.waitsFor !== null).length;
  }

  /** Those that were read in another state, as they are now. */
  async #stillWaiting(threads: readonly ThreadSummary[]): Promise<ThreadSummary[]> {
    const now = await Promise.all(
      threads.slice(0, MAX_LOOKED_UP).map(async ({ thread }) => {
        const pointer = await findThread(this.#engine.repository, thread);
        return pointer === undefined ? [] : [await summaryOf(this.#engine, pointer)];
      }),
    );
    return [...now.flat().filter(isWaiting), ...threads.slice(MAX_LOOKED_UP)];
  }

  async #readSoon(state: string): Promise<void> {
    try {
      await sleep(Math.max(0, this.#notBeforeMs - performance.now()), undefined, { ref: false });
      const startedMs = performance.now();
      const isFirst = this.#heads === undefined;
      await this.#read();
      this.#state = state;
      const tookMs = performance.now() - startedMs;
      // A list that is read in a moment is read again at once.
      this.#notBeforeMs = isFirst || tookMs < MAX_WAIT_MS ? 0 : performance.now() + tookMs / SHARE;
    } finally {
      this.#reading = undefined;
    }
    this.onRead();
  }

  async #read(): Promise<void> {
    const { repository } = this.#engine;
    const before = this.#heads;
    const running = new Set(findRunning(repository));
    const pointers = await listPointers(repository, { active: true }, { damaged: () => {} });
    const heads = new Map(pointers.map(({ id, head }) => [id, head]));
    const hasChanged = ({ id, head }: ThreadPointer): boolean =>
      before?.get(id) !== head || this.#running.has(id) !== running.has(id);
    const changed = pointers.filter(hasChanged);
    const found = await this.#look(before === undefined ? undefined : changed);
    for (const { id } of changed) this.#waiting.delete(id);
    for (const thread of found) this.#waiting.set(thread.thread, thread);
    for (const id of this.#waiting.keys()) if (!heads.has(id)) this.#waiting.delete(id);
    [this.#heads, this.#running] = [heads, running];
  }

  async #look(among: readonly ThreadPointer[] | undefined): Promise<ThreadSummary[]> {
    if (among !== undefined && among.length <= MAX_LOOKED_UP) {
      const found = await Promise.all(among.map((pointer) => summaryOf(this.#engine, pointer)));
      return found.filter(isWaiting);
    }
    const ids = among && new Set(among.map(({ id }) => id));
    return listThreads(this.#engine, { statuses: waitingStatuses, onDamaged: () => {}, among: ids });
  }
}

function isWaiting({ status }: ThreadSummary): boolean {
  return waitingStatuses.includes(status);
}
