/** The search of an export. It is a classic script, and so is its index: `file://` refuses modules, workers and fetch. */

type Entry = [address: string, title: string, text: string];

declare global {
  interface Window {
    /** The export writes the index as a script that sets this. */
    uwfSearch?: readonly Entry[];
  }
}

const MAX_RESULTS = 50;
const AROUND = 80;

function search(entries: readonly Entry[]): void {
  const box = document.querySelector<HTMLElement>('#search');
  const input = document.querySelector<HTMLInputElement>('#words');
  const found = document.querySelector('#found');
  const results = document.querySelector('#results');
  if (!box || !input || !found || !results) return;
  const texts = entries.map(([, title, text]) => `${title}\n${text}`.toLowerCase());
  const show = (): void => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const hits = entries.filter((_, at) => words.every((word) => texts[at]?.includes(word)));
    results.replaceChildren(
      ...(words.length === 0 ? [] : hits.slice(0, MAX_RESULTS).map((hit) => resultOf(hit, words))),
    );
    const first = hits.length > MAX_RESULTS ? `, the first ${MAX_RESULTS} are shown` : '';
    found.textContent = words.length === 0 ? '' : `${hits.length} found${first}`;
  };
  input.addEventListener('input', show);
  box.hidden = false;
  show();
}

function resultOf([address, title, text]: Entry, words: readonly string[]): HTMLElement {
  const result = document.createElement('li');
  const link = document.createElement('a');
  link.href = address;
  link.textContent = title;
  const at = Math.max(0, text.toLowerCase().indexOf(words[0] ?? ''));
  const start = Math.max(0, at - AROUND);
  const excerpt = document.createElement('p');
  excerpt.className = 'quiet';
  excerpt.textContent = `${start > 0 ? '… ' : ''}${text.slice(start, at + 2 * AROUND)}`;
  result.append(link, excerpt);
  return result;
}

// The index comes after this script.
document.addEventListener('DOMContentLoaded', () => {
  if (window.uwfSearch) search(window.uwfSearch);
});
