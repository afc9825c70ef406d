import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { prose, who } from './appender.js';
import { quietEnvironment } from './quiet-environment.js';
import { runCommand } from './run-command.js';

const texts = [1, 2, 3, 4, 5, 6];

/** Appends steps with isomorphic-git's documented calls, without a sync or a lock. */
export async function openIsomorphicGit(dir) {
  makeRepository(dir);
  const { default: git } = await import('isomorphic-git');
  let head = [];
  return async (number) => {
    const entries = [];
    for (const which of texts) {
      const oid = await git.writeBlob({ fs, dir, blob: Buffer.from(prose(number, which)) });
      entries.push({ mode: '100644', path: `${which}.md`, oid, type: 'blob' });
    }
    const inner = await git.writeTree({ fs, dir, tree: entries.slice(3) });
    const folder = { mode: '040000', path: 'artifacts', oid: inner, type: 'tree' };
    const tree = await git.writeTree({ fs, dir, tree: [...entries.slice(0, 3), folder] });
    const author = { ...who, timestamp: 1_795_262_400 + number, timezoneOffset: 0 };
    const commit = { message: `step ${number}\n`, tree, parent: head, author, committer: author };
    const oid = await git.writeCommit({ fs, dir, commit });
    await git.writeRef({ fs, dir, ref: 'refs/threads/bench', value: oid, force: true });
    head = [oid];
  };
}

/** Appends steps with git's plumbing: a process for each object and one for the ref. */
export function openGitPlumbing(cwd) {
  makeRepository(cwd);
  const env = {
    ...quietEnvironment(),
    GIT_AUTHOR_NAME: who.name,
    GIT_AUTHOR_EMAIL: who.email,
    GIT_COMMITTER_NAME: who.name,
    GIT_COMMITTER_EMAIL: who.email,
  };
  const git = (input, ...argv) =>
    runCommand(['git', ...argv], { cwd, env, input })
      .toString()
      .trim();
  let head;
  return (number) => {
    const lines = texts.map((which) => {
      return `100644 blob ${git(prose(number, which), 'hash-object', '-w', '--stdin')}\t${which}.md\n`;
    });
    const inner = git(lines.slice(3).join(''), 'mktree');
    const tree = git(`${lines.slice(0, 3).join('')}040000 tree ${inner}\tartifacts\n`, 'mktree');
    const parents = head === undefined ? [] : ['-p', head];
    const commit = git(`step ${number}\n`, 'commit-tree', ...parents, tree);
    git('', 'update-ref', 'refs/threads/bench', commit, head ?? '');
    head = commit;
  };
}

function makeRepository(folder) {
  execFileSync('git', ['init', '--quiet', folder], { env: quietEnvironment() });
}
