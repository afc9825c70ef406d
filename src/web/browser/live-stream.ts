import type { LiveEvent } from '../live/live-event.ts';

/** What one tab shows: topics with their states, threads with the place in their journal. */
export type TabView = { states: Record<string, string>; journals: Record<string, string> };

/** What a tab is told: by the server, and of the connection to it. */
export type TabEvent = LiveEvent | { event: 'connection'; isOpen: boolean };

const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 30_000;
/** The server sends a beat every 15 s; a connection that is silent for longer is dead. */
const SILENCE_MS = 40_000;
/** Tabs that open together are told of in one connection. */
const GATHER_MS = 50;

/** One stream of events for several tabs, which tell it what they show. */
export class LiveStream {
  readonly #tabs = new Map<object, { shown: TabView; tell: (event: TabEvent) => void }>();
  /** What the server has told last. */
  readonly #states = new Map<string, string>();
  readonly #places = new Map<string, string>();
  #source: EventSource | undefined;
  #address = '';
  #pauseMs = FIRST_PAUSE_MS;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #silence: ReturnType<typeof setTimeout> | undefined;

  /** A tab shows something else now, or is new. */
  show(tab: object, shown: TabView, tell: (event: TabEvent) => void): void {
    this.#tabs.set(tab, { shown, tell });
    tell({ event: 'connection', isOpen: this.#source?.readyState === EventSource.OPEN });
    for (const [topic, state] of Object.entries(shown.states)) {
      const told = this.#states.get(topic);
      // Another tab has heard of a state that this one does not show.
      if (told !== undefined && told !== state) tell({ event: 'state', topic, state: told });
    }
    this.#connectSoon(GATHER_MS);
  }

  leave(tab: object): void {
    this.#tabs.delete(tab);
    this.#connectSoon(GATHER_MS);
  }

  #connectSoon(pauseMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#connect(), pauseMs);
  }

  #connect(): void {
    const wanted = this.#wanted();
    const topics = wanted.topics.join(' ');
    if (this.#source && this.#source.readyState !== EventSource.CLOSED && topics === this.#address) return;
    this.#close();
    this.#address = topics;
    if (topics === '') return;
    const source = new EventSource(`/live?${wanted.query.toString()}`);
    this.#source = source;
    source.addEventListener('open', () => {
      this.#pauseMs = FIRST_PAUSE_MS;
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
    this.#heard();
  }

  /** What all tabs show together, in the form of the query. */
  #wanted(): { topics: string[]; query: URLSearchParams } {
    const query = new URLSearchParams();
    const topics = new Set<string>();
    for (const { shown } of this.#tabs.values()) {
      for (const [topic, state] of Object.entries(shown.states)) {
        if (topics.has(topic)) continue;
        topics.add(topic);
        query.append('state', `${topic}@${this.#states.get(topic) ?? state}`);
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
    return { topics: [...topics].toSorted(), query };
  }

  #tellTabs(event: LiveEvent): void {
    if (event.event === 'state') this.#states.set(event.topic, event.state);
    if (event.event === 'words') this.#places.set(event.thread, event.place);
    for (const { shown, tell } of this.#tabs.values()) {
      const isShown =
        event.event === 'state' ? event.topic in shown.states : 'thread' in event && event.thread in shown.journals;
      if (isShown) tell(event);
    }
  }

  #tellAll(event: TabEvent): void {
    for (const { tell } of this.#tabs.values()) tell(event);
  }

  #heard(): void {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.#retry(), SILENCE_MS);
  }

  /** Tries again after a pause that grows, and differs from browser to browser. */
  #retry(): void {
    this.#close();
    this.#tellAll({ event: 'connection', isOpen: false });
    this.#connectSoon(this.#pauseMs * (0.75 + Math.random() / 2));
    this.#pauseMs = Math.min(this.#pauseMs * 2, MAX_PAUSE_MS);
  }

  #close(): void {
    clearTimeout(this.#silence);
    this.#source?.close();
    this.#source = undefined;
  }
}
