import type { LiveEvent } from '../live/running-turn.ts';

/** What one tab shows: topics with their states, and threads with the place in their journal. */
export type TabView = {
  /** `sinceMs`: when that state was asked for, in ms since 1970. What was heard before then is no news. */
  states: Record<string, { state: string; sinceMs: number }>;
  journals: Record<string, string>;
};

/** What a tab is told: by the server, and of the connection to it. */
export type TabEvent = LiveEvent | { event: 'connection'; isOpen: boolean };

type Tab = { shown: TabView; tell: (event: TabEvent) => void; gone: ReturnType<typeof setTimeout> };

const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 30_000;
/** A connection that ends sooner is a failed try, so that the pause goes on growing. */
const LASTING_MS = 3_000;
/** The server sends a beat every 15 s; a connection that is silent for longer is dead. */
const SILENCE_MS = 40_000;
/** A new connection has so long to open: the browser may have sent the request over one that is dead. */
const OPENING_MS = 10_000;
/** Tabs that open together are told of in one connection. */
const GATHER_MS = 50;
/** Tabs say again and again what they show. Browsers let a hidden one run once a minute. */
const SILENT_TAB_MS = 150_000;

/** One stream of events for several tabs, which tell it what they show. */
export class LiveStream {
  readonly #tabs = new Map<unknown, Tab>();
  /** What the server has told last, and when. */
  readonly #states = new Map<string, { state: string; heardMs: number }>();
  readonly #places = new Map<string, string>();
  #source: EventSource | undefined;
  #topics = '';
  #pauseMs = FIRST_PAUSE_MS;
  #isPausing = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #silence: ReturnType<typeof setTimeout> | undefined;
  #lasting: ReturnType<typeof setTimeout> | undefined;

  /** A tab shows something else now, is new, or is still there. */
  show(tab: unknown, shown: TabView, tell: (event: TabEvent) => void): void {
    clearTimeout(this.#tabs.get(tab)?.gone);
    this.#tabs.set(tab, { shown, tell, gone: setTimeout(() => this.leave(tab), SILENT_TAB_MS) });
    tell({ event: 'connection', isOpen: this.#source?.readyState === EventSource.OPEN });
    for (const [topic, { state, sinceMs }] of Object.entries(shown.states)) {
      const told = this.#states.get(topic);
      // The server tells it once, and this tab was not there, or could not load the page then.
      if (told && told.state !== state && told.heardMs >= sinceMs) tell({ event: 'state', topic, state: told.state });
    }
    this.#connectSoon();
  }

  leave(tab: unknown): void {
    clearTimeout(this.#tabs.get(tab)?.gone);
    this.#tabs.delete(tab);
    this.#connectSoon();
  }

  #connectSoon(): void {
    // A tab that only says that it is there does not shorten the pause between tries.
    if (this.#isPausing && this.#wanted().topics === this.#topics) return;
    this.#connectAfter(GATHER_MS);
  }

  #connectAfter(pauseMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#connect(), pauseMs);
  }

  #connect(): void {
    this.#isPausing = false;
    const { topics, query } = this.#wanted();
    if (this.#source && this.#source.readyState !== EventSource.CLOSED && topics === this.#topics) return;
    this.#close();
    this.#topics = topics;
    if (topics === '') return;
    const source = new EventSource(`/live?${query.toString()}`);
    this.#source = source;
    source.addEventListener('open', () => {
      this.#heard();
      this.#lasting = setTimeout(() => (this.#pauseMs = FIRST_PAUSE_MS), LASTING_MS);
      this.#tellAll({ event: 'connection', isOpen: true });
    });
    source.addEventListener('error', () => this.#retry());
    source.addEventListener('beat', () => this.#heard());
    for (const name of ['state', 'words', 'turn']) {
      source.addEventListener(name, ({ data }: MessageEvent<string>) => {
        this.#heard();
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Only our server speaks here.
        this.#tellTabs(JSON.parse(data) as LiveEvent);
      });
    }
    this.#heard(OPENING_MS);
  }

  /** What all tabs show together: as a text, and in the form of the query. */
  #wanted(): { topics: string; query: URLSearchParams } {
    const query = new URLSearchParams();
    const topics = new Set<string>();
    for (const { shown } of this.#tabs.values()) {
      for (const [topic, { state }] of Object.entries(shown.states)) {
        if (topics.has(topic)) continue;
        topics.add(topic);
        query.append('state', `${topic}@${this.#states.get(topic)?.state ?? state}`);
      }
      for (const [thread, place] of Object.entries(shown.journals)) {
        const topic = `journal ${thread}`;
        if (topics.has(topic)) continue;
        topics.add(topic);
        query.append('journal', `${thread}@${this.#places.get(thread) ?? place}`);
      }
    }
    for (const topic of this.#states.keys()) if (!topics.has(topic)) this.#states.delete(topic);
    for (const thread of this.#places.keys()) if (!topics.has(`journal ${thread}`)) this.#places.delete(thread);
    return { topics: [...topics].toSorted().join(' '), query };
  }

  #tellTabs(event: LiveEvent): void {
    if (event.event === 'state') this.#states.set(event.topic, { state: event.state, heardMs: Date.now() });
    else if (event.event === 'words') this.#places.set(event.thread, event.place);
    // Tabs load the page again, and say which place that has reached.
    else this.#places.delete(event.thread);
    for (const { shown, tell } of this.#tabs.values()) {
      const isShown = event.event === 'state' ? event.topic in shown.states : event.thread in shown.journals;
      if (isShown) tell(event);
    }
  }

  #tellAll(event: TabEvent): void {
    for (const { tell } of this.#tabs.values()) tell(event);
  }

  #heard(silenceMs = SILENCE_MS): void {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.#retry(), silenceMs);
  }

  /** Tries again after a pause that grows, and differs from browser to browser. */
  #retry(): void {
    this.#close();
    this.#tellAll({ event: 'connection', isOpen: false });
    this.#connectAfter(this.#pauseMs * (0.75 + Math.random() / 2));
    this.#isPausing = true;
    this.#pauseMs = Math.min(this.#pauseMs * 2, MAX_PAUSE_MS);
  }

  #close(): void {
    clearTimeout(this.#silence);
    clearTimeout(this.#lasting);
    this.#source?.close();
    this.#source = undefined;
  }
}

/** What a tab says to the stream that it shares with the other tabs. */
export type TabMessage = { shown: TabView } | { leaves: true };

export type TabLine = { show(shown: TabView): void; leave(): void };

/** What tabs say to each other where there is no shared worker. */
type ChannelMessage = (TabMessage & { from: string }) | { to: string; event: TabEvent } | { leads: true };

/**
 * Connects a tab to the one stream of this browser: over a shared worker, or, where there is none, over the tab that leads.
 * Browsers have few connections for each server.
 */
export function openTabLine(hear: (event: TabEvent) => void): TabLine {
  if (typeof SharedWorker === 'function') return overWorker(hear);
  // Browsers have locks only on this machine and over TLS.
  if ('locks' in navigator && typeof BroadcastChannel === 'function') return overLeader(hear);
  const [stream, tab] = [new LiveStream(), {}];
  return { show: (shown) => stream.show(tab, shown, hear), leave: () => stream.leave(tab) };
}

function overWorker(hear: (event: TabEvent) => void): TabLine {
  const { port } = new SharedWorker('/assets/stream-worker.js', { name: 'uwf' });
  port.addEventListener('message', ({ data }: MessageEvent<TabEvent>) => hear(data));
  port.start();
  const say = (message: TabMessage): void => port.postMessage(message);
  return { show: (shown) => say({ shown }), leave: () => say({ leaves: true }) };
}

/** The tab that holds the lock has the stream. When it closes, the browser gives the lock to another one. */
function overLeader(hear: (event: TabEvent) => void): TabLine {
  const own = crypto.randomUUID();
  const channel = new BroadcastChannel('uwf');
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- A channel has no target.
  const say = (message: ChannelMessage): void => channel.postMessage(message);
  let stream: LiveStream | undefined;
  let shownLast: TabView | undefined;
  const show = (): void => {
    if (shownLast === undefined) return;
    if (stream) stream.show(own, shownLast, hear);
    else say({ from: own, shown: shownLast });
  };
  channel.addEventListener('message', ({ data }: MessageEvent<ChannelMessage>) => {
    if ('leads' in data) show();
    else if ('to' in data) {
      if (data.to === own) hear(data.event);
    } else if ('leaves' in data) stream?.leave(data.from);
    else stream?.show(data.from, data.shown, (event) => say({ to: data.from, event }));
  });
  const lead = (): Promise<never> => {
    stream = new LiveStream();
    say({ leads: true });
    show();
    // Until the tab is closed.
    return new Promise(() => {});
  };
  void navigator.locks.request('uwf', lead);
  return {
    show(shown) {
      shownLast = shown;
      show();
    },
    leave() {
      if (stream) stream.leave(own);
      else say({ from: own, leaves: true });
    },
  };
}
