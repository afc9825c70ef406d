import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { prose } from '../lib/appender.js';
import { quietEnvironment } from '../lib/quiet-environment.js';

/** Ends in one commit of an archive, as docs/format.md has it. */
const ENDS_A_COMMIT = 250;
const WHO = 'Bench <bench@example.org> 1795262400 +0000';

/** The id of a thread, by its number. */
export function threadId(number) {
  return `01${String(number).padStart(24, '0')}`;
}

/**
 * Makes a bare repository as a host has it: packed refs, one pack, no housekeeping while it is measured.
 *
 * @param {string} path
 * @param {{ active: number, claims: number, ended: number, layout?: 'refs' | 'hidden' | 'archived' }} sizes `hidden`: refs of
 *   ended threads are not listed before a push; `archived`: they are parents of a chain of commits in place of refs
 * @returns {{ heads: string[], firsts: string[] }} of the active threads: their newest commits, of two, and their first ones
 */
export function makeHostRepository(path, { active, claims, ended, layout = 'refs' }) {
  mkdirSync(path, { recursive: true });
  const env = quietEnvironment();
  const git = (args, input = '') =>
    execFileSync('git', args, { cwd: path, env, input, encoding: 'utf8', maxBuffer: 2 ** 30 });
  git(['init', '--quiet', '--bare']);
  const settings = { 'http.receivepack': 'true', 'receive.autogc': 'false', 'gc.auto': '0' };
  if (layout === 'hidden') settings['receive.hideRefs'] = 'refs/history';
  for (const [name, value] of Object.entries(settings)) git(['config', name, value]);
  git(['fast-import', '--quiet'], [...commits(active, claims, ended, layout)].join(''));
  git(['pack-refs', '--all']);
  const list = (format) =>
    git(['for-each-ref', `--format=${format}`, 'refs/threads'])
      .trim()
      .split('\n');
  const heads = list('%(objectname)');
  return {
    heads,
    firsts: git(['rev-parse', ...heads.map((head) => `${head}~1`)])
      .trim()
      .split('\n'),
  };
}

function* commits(active, claims, ended, layout) {
  const file = (name, text) => `M 100644 inline ${name}\ndata ${Buffer.byteLength(text)}\n${text}\n`;
  const commit = (ref, message, rest) =>
    `commit ${ref}\ncommitter ${WHO}\ndata ${message.length}\n${message}\n${rest}\n`;
  for (let at = 0; at < active; at += 1) {
    const ref = `refs/threads/${threadId(at)}`;
    yield commit(ref, `start ${at}`, file('start.json', `${at}`));
    // A step has six files of 1 KiB.
    const files = [1, 2, 3, 4, 5, 6].map((which) => file(`${which}.md`, prose(1e6 + at, which)));
    yield commit(ref, `step ${at}`, files.join(''));
  }
  for (let at = 0; at < claims; at += 1) {
    yield commit(`refs/uwf/claims/${threadId(at)}`, `claim ${at}`, file('claim.json', `${at}`));
  }
  for (let at = 0; at < ended; at += 1) {
    const ref = layout === 'archived' ? 'refs/uwf/next' : `refs/history/2026-10-01/${threadId(1e9 + at)}`;
    const end = commit(ref, `end ${at}`, '').replace('\n', `\nmark :${at + 1}\n`);
    yield layout === 'archived' ? `reset ${ref}\n\n${end}` : end;
  }
  if (layout !== 'archived') return;
  const ref = 'refs/uwf/archive/ends/0000000000000000';
  for (let from = 0; from < ended; from += ENDS_A_COMMIT) {
    const last = Math.min(from + ENDS_A_COMMIT, ended);
    const ends = Array.from({ length: last - from }, (_, at) => `:${from + at + 1}`);
    const parents = from === 0 ? [`from ${ends.shift()}`] : [];
    yield commit(
      ref,
      'archive',
      [...parents, ...ends.map((end) => `merge ${end}`)].map((line) => `${line}\n`).join(''),
    );
  }
  yield 'reset refs/uwf/next\nfrom 0000000000000000000000000000000000000000\n\n';
}
