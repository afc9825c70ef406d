import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import { isNodeHash } from '../../cas/hash.ts';
import { isThreadId } from '../../thread/thread-id.ts';
import type { Html } from '../html.ts';
import { stepPage } from '../pages/step-page.tsx';
import { threadPage } from '../pages/thread-page.tsx';
import type { Visit } from '../site.ts';

type ExportedPage = {
  path: RegExp;
  /** What of the query makes another page. */
  query: readonly string[];
  page: (visit: Visit, first: string, second: string) => Promise<Html>;
};

/** The pages that an export has, besides its index: those to which a page of it links. The first group names the thread. */
export const exportedPages: readonly ExportedPage[] = [
  { path: /^\/t\/([^/]+)$/, query: ['view', 'before'], page: (visit, id) => threadPage(visit, id) },
  { path: /^\/t\/([^/]+)\/([^/]+)$/, query: ['turns'], page: stepPage },
];

const MAX_WORD = 80;

/** The file of an address, with the same name on every system: case, reserved names and length make no difference. */
export function pageFile({ pathname, searchParams }: URL): string {
  if (pathname === '/') return 'index.html';
  const words = pathname.slice(1).split('/').map(decodeURIComponent);
  const query = [...searchParams].flat();
  return `pages/${[...words, ...query].map(safeWord).join('.')}.html`;
}

function safeWord(word: string): string {
  if (isThreadId(word) || isNodeHash(word)) return word;
  const safe = word.replaceAll(/[^a-z0-9-]/gu, (character) => `_${character.codePointAt(0)?.toString(16)}_`);
  if (safe.length <= MAX_WORD) return safe;
  return `${safe.slice(0, MAX_WORD)}_${createHash('sha256').update(word).digest('hex').slice(0, 16)}`;
}

/** How one file of the export names another. */
export function relativeFile(from: string, to: string): string {
  return posix.relative(posix.dirname(from), to);
}
