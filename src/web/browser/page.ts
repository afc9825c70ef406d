import { Idiomorph } from 'idiomorph';
import { openTabLine, type TabEvent, type TabLine, type TabView } from './live-stream.ts';

/** The stream learns that a tab is still there so often. */
const ALIVE_MS = 45_000;
/** A request that a proxy swallows is given up. */
const LOAD_MS = 20_000;
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;

type Words = Extract<TabEvent, { event: 'words' }>;

/** Takes the token from the address's fragment, and logs in with it. */
function logIn(): void {
  const token = /^#token=(.+)$/.exec(location.hash)?.[1];
  if (token === undefined) return;
  history.replaceState(null, '', location.pathname + location.search);
  const form = document.querySelector<HTMLFormElement>('#login');
  const input = form?.querySelector<HTMLInputElement>('#secret');
  if (!form || !input) return;
  input.value = decodeURIComponent(token);
  form.submit();
}

/** When what the page shows was asked for, in ms since 1970. */
let shownSinceMs: number = performance.timeOrigin;
/** What waits for a person, as the server told it: how many, and which. */
let waiting = '';

/** What this page shows. A hidden one needs only to learn what waits. */
function shownHere(): TabView {
  const states: TabView['states'] = { waiting: { state: waiting, sinceMs: 0 } };
  if (document.hidden) return { states, journals: {} };
  const { topic, state = '' } = document.querySelector<HTMLElement>('#main')?.dataset ?? {};
  const { journal, place = '' } = document.querySelector<HTMLElement>('#turn')?.dataset ?? {};
  if (topic !== undefined) states[topic] = { state, sinceMs: shownSinceMs };
  return { states, journals: journal === undefined ? {} : { [journal]: place } };
}

let isLoading = false;
let isStale = false;
let pauseMs = FIRST_PAUSE_MS;
let retry: ReturnType<typeof setTimeout> | undefined;
/** Words that came while the page was loaded: it may not have them yet. */
let wordsWhileLoading: Words[] = [];

/** Loads the page again and changes what differs, until nothing new was told meanwhile. */
async function renew(): Promise<void> {
  isStale = true;
  if (isLoading) return;
  isLoading = true;
  clearTimeout(retry);
  try {
    while (isStale) {
      isStale = false;
      await load();
    }
    pauseMs = FIRST_PAUSE_MS;
  } catch {
    // The server is gone for now.
    isStale = true;
    retry = setTimeout(() => void renew(), pauseMs);
    pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS);
  }
  isLoading = false;
  const words = wordsWhileLoading;
  wordsWhileLoading = [];
  for (const each of words) addWords(each);
  if (!isStale) line?.show(shownHere());
}

/** What is typed, opened or focused stays. */
async function load(): Promise<void> {
  const askedMs = Date.now();
  const signal = AbortSignal.timeout(LOAD_MS);
  const response = await fetch(location.href, { headers: { Accept: 'text/html' }, signal });
  // This browser is no longer logged in, or what the page shows is gone.
  if (response.redirected || response.status === 404) {
    shownSinceMs = askedMs;
    if (!keepsTyped(document.body)) location.reload();
    return;
  }
  if (!response.ok) throw new Error(response.statusText);
  const fresh = new DOMParser().parseFromString(await response.text(), 'text/html');
  const [main, next] = [document.querySelector('#main'), fresh.querySelector('#main')];
  if (!main || !next) return;
  await Idiomorph.morph(main, next, {
    ignoreActiveValue: true,
    callbacks: {
      beforeAttributeUpdated: (name, node) => !(name === 'open' && node instanceof HTMLDetailsElement),
      beforeNodeMorphed: (node, fresher) => !touched.has(node) && !isTyped(node, fresher),
      beforeNodeRemoved: (node) => !keepsTyped(node),
    },
  });
  shownSinceMs = askedMs;
  title = fresh.title;
  showWaiting();
}

/** Tells whether a field has what a person has put there, and is still the same field. */
function isTyped(node: Node, fresh: Node): boolean {
  if (node instanceof HTMLTextAreaElement) {
    return fresh instanceof HTMLTextAreaElement && node.name === fresh.name && node.value !== node.defaultValue;
  }
  if (!(node instanceof HTMLInputElement) || node.type === 'hidden') return false;
  const isChanged = node.value !== node.defaultValue || node.checked !== node.defaultChecked;
  return fresh instanceof HTMLInputElement && node.name === fresh.name && isChanged;
}

/** A place in a journal: the file, and how far it was read. */
function placeOf(text = ''): { generation: string; offset: number } {
  const [generation = '', offset = ''] = text.split(':');
  return { generation, offset: Number(offset) };
}

/** Forms in which a person has typed: what is typed there stays. */
const touched = new WeakSet<Node>();
document.addEventListener('input', ({ target }) => {
  if (target instanceof Element && target.closest('form.act')) touched.add(target.closest('form.act') ?? target);
});

/** Tells whether a node has a form in which a person has typed. The form stays, and says that the thread has gone on. */
function keepsTyped(node: Node): boolean {
  if (!(node instanceof Element)) return false;
  const forms = [node, ...node.querySelectorAll('form.act')].filter((form) => touched.has(form));
  for (const form of forms) {
    const line = form.querySelector('.stale');
    if (line) line.textContent = 'The thread has gone on since you began to type; this would not be taken any more.';
  }
  return forms.length > 0;
}

/** Adds what the agent said since the place that the page has reached. */
function addWords(words: Words): void {
  if (isLoading) {
    wordsWhileLoading.push(words);
    return;
  }
  const { thread, from, place, parts } = words;
  const turn = document.querySelector<HTMLElement>('#turn');
  if (turn?.dataset['journal'] !== thread) return;
  const [here, there] = [placeOf(turn.dataset['place']), placeOf(place)];
  if (here.generation === there.generation && here.offset >= there.offset) return;
  const list = turn.querySelector('.parts');
  if (!list || turn.dataset['place'] !== from) return void renew();
  const isAtEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 80;
  for (const { kind, text } of parts) {
    const last = list.lastElementChild;
    if (last instanceof HTMLElement && last.dataset['kind'] === kind && (kind === 'text' || kind === 'thought')) {
      last.append(text);
      continue;
    }
    const part = document.createElement('p');
    part.className = 'part';
    part.dataset['kind'] = kind;
    part.textContent = text;
    list.append(part);
  }
  turn.dataset['place'] = place;
  if (isAtEnd) scrollTo({ top: document.documentElement.scrollHeight });
}

let title = document.title;

/** Says in the title how many threads wait for a person: that shows on a hidden tab. */
function showWaiting(): void {
  const count = Number.parseInt(waiting, 10) || 0;
  document.title = count > 0 ? `(${count}) ${title}` : title;
}

function hear(event: TabEvent): void {
  if (event.event === 'connection') {
    showConnection(event.isOpen);
    // What could not be loaded while the server was gone.
    if (event.isOpen && isStale) void renew();
  } else if (event.event === 'words') addWords(event);
  else if (event.event === 'state' && event.topic === 'waiting') {
    waiting = event.state;
    showWaiting();
    void notifyOfNew(waiting);
  } else if (event.event === 'turn' || document.querySelector<HTMLElement>('#main')?.dataset['state'] !== event.state)
    void renew();
}

/** Says that the page is no longer live, once that has lasted for a moment. */
let connectionTimer: ReturnType<typeof setTimeout> | undefined;
function showConnection(isOpen: boolean): void {
  const text = document.querySelector('#connection');
  clearTimeout(connectionTimer);
  if (!text) return;
  if (isOpen) text.textContent = '';
  else connectionTimer = setTimeout(() => (text.textContent = 'not connected; trying again'), 2_000);
}

let line: TabLine | undefined;

function connect(): void {
  const opened = openTabLine(hear);
  line = opened;
  const show = (): void => opened.show(shownHere());
  addEventListener('pagehide', () => opened.leave());
  addEventListener('pageshow', show);
  document.addEventListener('visibilitychange', show);
  setInterval(show, ALIVE_MS);
  show();
}

logIn();
if (document.querySelector('#connection')) connect();
const notify = document.querySelector<HTMLButtonElement>('#notify');
if (notify) offerNotifications(notify, () => waiting);

type Question = { id: string; thread: string; title: string; text: string };

/** Kept for all tabs of this browser. */
const WANTED = 'uwf-notifications';
/** The questions that were told, or were there when notifications were switched on. */
const TOLD = 'uwf-questions-told';
/** The state of what waits in which all questions were told. */
const STATE = 'uwf-waiting-state';
const MAX_TOLD = 1_000;

/**
 * Shows the button that switches notifications on and off, where this browser has them. Browsers have them on this machine
 * and over TLS only.
 */
function offerNotifications(button: HTMLButtonElement, waiting: () => string): void {
  if (typeof Notification !== 'function' || !isSecureContext) return;
  const show = (): void => {
    button.setAttribute('aria-pressed', String(isWanted()));
    button.hidden = Notification.permission === 'denied';
  };
  button.addEventListener('click', () => void toggle(waiting()).then(show));
  // Another tab has switched them.
  addEventListener('storage', show);
  show();
}

function isWanted(): boolean {
  return localStorage.getItem(WANTED) === 'yes' && Notification.permission === 'granted';
}

async function toggle(waiting: string): Promise<void> {
  if (isWanted()) return localStorage.removeItem(WANTED);
  if ((await Notification.requestPermission()) !== 'granted') return;
  // The person who clicks has seen what waits already.
  await findNew(waiting);
  localStorage.setItem(WANTED, 'yes');
}

/** Notifies of the questions that are new, each once, whatever tabs are open; `waiting` is their state, as the server told it. */
async function notifyOfNew(waiting: string): Promise<void> {
  if (typeof Notification !== 'function' || !isWanted()) return;
  for (const { id, thread, title, text } of await findNew(waiting)) {
    const notification = new Notification(title, { body: text, tag: id });
    // The page that is open may have an answer that is being written.
    notification.addEventListener('click', () => open(`/inbox#${thread}`, 'uwf-inbox'));
  }
}

/** Finds the questions that no tab of this browser has found before. Of all tabs one looks at a time. */
function findNew(waiting: string): Promise<Question[]> {
  return navigator.locks.request('uwf-notifications', async () => {
    if (localStorage.getItem(STATE) === waiting) return [];
    const questions = await loadQuestions();
    const told = (localStorage.getItem(TOLD) ?? '').split(' ');
    const fresh = questions.filter(({ id }) => !told.includes(id));
    localStorage.setItem(TOLD, [...told, ...fresh.map(({ id }) => id)].slice(-MAX_TOLD).join(' '));
    localStorage.setItem(STATE, waiting);
    return fresh;
  });
}

/** The questions of the inbox: there is one list of what waits, and that is it. */
async function loadQuestions(): Promise<Question[]> {
  const response = await fetch('/inbox', { headers: { Accept: 'text/html' } });
  if (!response.ok || response.redirected) return [];
  const inbox = new DOMParser().parseFromString(await response.text(), 'text/html');
  return [...inbox.querySelectorAll<HTMLElement>('article.waiting')].map((article) => {
    const textOf = (selector: string): string => article.querySelector(selector)?.textContent?.trim() ?? '';
    const question = article.querySelector<HTMLElement>('[data-question]')?.dataset['question'] ?? article.id;
    return { id: question, thread: article.id, title: textOf('.answer h2'), text: textOf('.task') };
  });
}
