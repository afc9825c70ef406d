/** A question of the inbox. */
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
export function offerNotifications(button: HTMLButtonElement, waiting: () => string): void {
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

/**
 * Notifies of the questions that are new, each once, whatever tabs are open.
 * @param waiting the state of what waits, as the server told it
 */
export async function notifyOfNew(waiting: string): Promise<void> {
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
