import { Idiomorph } from 'idiomorph';
import { LiveStream, type TabEvent, type TabView } from './live-stream.ts';

/** The worker learns that a tab is still there so often. */
const ALIVE_MS = 45_000;

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

/** What this page shows. A hidden page needs no words, but learns what waits. */
function shownHere(): TabView {
  const { topic, state } = document.querySelector<HTMLElement>('#main')?.dataset ?? {};
  const { journal, place } = document.querySelector<HTMLElement>('#turn')?.dataset ?? {};
  return {
    states: topic === undefined ? {} : { [topic]: state ?? '' },
    journals: journal === undefined || document.hidden ? {} : { [journal]: place ?? '' },
  };
}

let isLoading = false;
let isStale = false;

/** Loads the page again and changes what differs. What is typed, opened or focused stays. */
async function renew(): Promise<void> {
  isStale = true;
  if (isLoading) return;
  isLoading = true;
  try {
    while (isStale) {
      isStale = false;
      const response = await fetch(location.href, { headers: { Accept: 'text/html' } });
      if (response.redirected) location.reload();
      const fresh = new DOMParser().parseFromString(await response.text(), 'text/html');
      const [main, next] = [document.querySelector('#main'), fresh.querySelector('#main')];
      if (!response.ok || !main || !next) return;
      document.title = fresh.title;
      await Idiomorph.morph(main, next, {
        ignoreActiveValue: true,
        callbacks: { beforeAttributeUpdated: (name, node) => !(name === 'open' && node instanceof HTMLDetailsElement) },
      });
    }
  } catch {
    // The server is gone for now: the stream tells when it is back.
  } finally {
    isLoading = false;
    tellShown();
  }
}

/** Adds what the agent said since the place that the page has reached. */
function addWords({ thread, from, place, parts }: Extract<TabEvent, { event: 'words' }>): void {
  const turn = document.querySelector<HTMLElement>('#turn');
  const list = turn?.querySelector('.parts');
  if (turn?.dataset['journal'] !== thread || turn.dataset['place'] === place) return;
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

function hear(event: TabEvent): void {
  if (event.event === 'connection') showConnection(event.isOpen);
  else if (event.event === 'words') addWords(event);
  else if (event.event === 'turn' || document.querySelector<HTMLElement>('#main')?.dataset['state'] !== event.state)
    void renew();
}

/** Says that the page is no longer live, once that has lasted for a moment. */
let connectionTimer: ReturnType<typeof setTimeout> | undefined;
function showConnection(isOpen: boolean): void {
  const line = document.querySelector('#connection');
  clearTimeout(connectionTimer);
  if (!line) return;
  if (isOpen) line.textContent = '';
  else connectionTimer = setTimeout(() => (line.textContent = 'not connected; trying again'), 2_000);
}

let tellShown: () => void = () => {};

function connect(): void {
  if (shownHere().states === undefined) return;
  if (typeof SharedWorker === 'function') {
    const { port } = new SharedWorker('/assets/stream-worker.js', { name: 'uwf' });
    port.addEventListener('message', ({ data }: MessageEvent<TabEvent>) => hear(data));
    port.start();
    tellShown = () => port.postMessage({ shown: shownHere() });
    addEventListener('pagehide', () => port.postMessage({ leaves: true }));
    setInterval(() => tellShown(), ALIVE_MS);
  } else {
    const [stream, tab] = [new LiveStream(), {}];
    tellShown = () => stream.show(tab, shownHere(), hear);
    addEventListener('pagehide', () => stream.leave(tab));
  }
  addEventListener('pageshow', () => tellShown());
  document.addEventListener('visibilitychange', () => tellShown());
  tellShown();
}

logIn();
if (document.querySelector('#main[data-topic]')) connect();
