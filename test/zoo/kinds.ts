import { execFileSync } from 'node:child_process';
import { appendFileSync, chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createTemporaryFolder, isolatedGitEnvironment, runGit } from '../helpers/temporary-repository.ts';

/** A folder that becomes a repository of some kind. */
export type Place = {
  dir: string;
  git: (...args: string[]) => string;
  /** Writes a file; the name's characters are bytes. */
  write: (path: string, data: string | Uint8Array) => void;
  commit: (message?: string) => void;
};

/** A kind of repository, and what of it a snapshot names as not recorded. */
export type Kind = {
  /** Options of the `git clone` that it begins with, or of `git init`; a new repository has one commit. */
  clone?: string[];
  init?: string[];
  build?: (place: Place) => Place | void;
  missing?: RegExp;
  /** Nothing is recorded: there is no work tree. */
  isBare?: boolean;
  /** Line ends are made anew when files are restored. */
  hasOtherLineEnds?: boolean;
};

export function placeAt(dir: string): Place {
  const git = (...args: string[]): string => runGit(dir, args);
  return {
    dir,
    git,
    write(path, data) {
      const file = Buffer.from(`${dir}/${path}`, 'latin1');
      mkdirSync(file.subarray(0, file.lastIndexOf('/')), { recursive: true });
      writeFileSync(file, data);
    },
    commit(message = 'more') {
      git('add', '-A');
      git('commit', '-qm', message);
    },
  };
}

/** A repository elsewhere with a few commits, two folders and a branch. */
function upstream(): string {
  const { dir, git, write, commit } = placeAt(createTemporaryFolder());
  git('init', '-q', '-b', 'main');
  for (const name of ['one', 'two', 'three']) {
    for (const path of ['top', 'in/a', 'out/b', 'out/deep/c']) write(path, `${path} ${name}\n`);
    commit(name);
  }
  git('branch', 'other', 'HEAD~1');
  git('config', 'uploadpack.allowFilter', 'true');
  git('config', 'uploadpack.allowAnySHA1InWant', 'true');
  return dir;
}

/** Makes a repository of a kind in a new folder. */
export function buildKind({ clone, init = [], build }: Kind): Place {
  const place = placeAt(createTemporaryFolder());
  if (clone !== undefined) place.git('clone', '-q', ...clone, `file://${upstream()}`, '.');
  else {
    place.git('init', '-q', '-b', 'main', ...init);
    place.write('top', 'top\n');
    place.commit('first');
  }
  return build?.(place) ?? place;
}

function random(bytes: number, seed: number): Buffer {
  const data = Buffer.alloc(bytes);
  for (let at = 0, state = seed; at < bytes; at += 1)
    data[at] = (state = (state * 1103515245 + 12345) & 0x7fffffff) >> 16;
  return data;
}

export const kinds: Record<string, Kind> = {
  plain: {},
  'no commit yet': {
    build: ({ git, write }) => {
      git('checkout', '-q', '--orphan', 'new');
      write('a', 'a');
    },
  },
  'a detached HEAD': { build: ({ git }) => void git('checkout', '-q', '--detach') },
  'a sparse cone': { clone: [], build: ({ git }) => void git('sparse-checkout', 'set', '--cone', 'in') },
  'a sparse index': {
    clone: [],
    build: ({ git }) => void git('sparse-checkout', 'set', '--cone', '--sparse-index', 'in'),
  },
  'sparse patterns without a cone': {
    clone: [],
    build: ({ git }) => void git('sparse-checkout', 'set', '--no-cone', '/top', '/out/b'),
  },
  'a shallow clone': { clone: ['--depth=1'] },
  'a partial clone': { clone: ['--filter=blob:none'] },
  'nested repositories': {
    build: ({ dir, write }) => {
      write('nested/file', 'x');
      write('empty/file', 'x');
      for (const name of ['nested', 'empty']) runGit(join(dir, name), ['init', '-q']);
      runGit(join(dir, 'nested'), ['add', '-A']);
      runGit(join(dir, 'nested'), ['commit', '-qm', 'nested']);
    },
    missing: /empty is a repository of its own without a commit.*nested\/ is a repository of its own/,
  },
  submodules: {
    build: ({ git, write, commit }) => {
      git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', upstream(), 'library');
      commit();
      write('library/new', 'x');
    },
    missing: /library is a submodule with changes/,
  },
  'filters that clean and smudge': {
    build: ({ git, write, commit }) => {
      git('config', 'filter.rot.clean', 'tr a-z b-za');
      git('config', 'filter.rot.smudge', 'tr b-za a-z');
      write('.gitattributes', '*.rot filter=rot\n');
      write('a.rot', 'hello\n');
      commit();
      write('b.rot', 'world\n');
    },
  },
  'a required filter that is missing': {
    build: ({ git, write, commit }) => {
      write('old.bin', 'x');
      commit();
      write('.gitattributes', '*.bin filter=lfs\n');
      git('config', 'filter.lfs.required', 'true');
      git('config', 'filter.lfs.process', 'no-such-program filter-process');
      git('config', 'filter.lfs.clean', 'no-such-program clean %f');
      write('new.bin', 'y');
    },
    missing: /new\.bin needs the filter 'lfs'/,
  },
  'large files behind pointers': {
    build: ({ dir, git, write, commit }) => {
      // As LFS does: a pointer is stored, the content lies in the git folder.
      const store = join(dir, '.git/large');
      mkdirSync(store);
      const clean = `f=$(mktemp); cat > $f; h=$(sha256sum < $f | cut -c1-64); mv $f ${store}/$h; echo pointer $h`;
      git('config', 'filter.large.clean', clean);
      git('config', 'filter.large.smudge', `read w h; cat ${store}/$h`);
      git('config', 'filter.large.required', 'true');
      write('.gitattributes', '*.dat filter=large\n');
      write('a.dat', random(100_000, 1));
      commit();
      write('b.dat', random(100_000, 2));
    },
  },
  'encodings in the work tree': {
    build: ({ write, commit }) => {
      write('.gitattributes', '*.u16 working-tree-encoding=UTF-16LE-BOM\n*.l1 working-tree-encoding=ISO-8859-1\n');
      write('a.u16', Buffer.from('\ufeffhällo\r\n', 'utf16le'));
      commit();
      write('b.l1', Buffer.from('h\xe4llo\n', 'latin1'));
      write('bad.u16', 'neither');
    },
    missing: /bad\.u16 cannot be added/,
  },
  'autocrlf and eol': {
    hasOtherLineEnds: true,
    build: ({ git, write, commit }) => {
      git('config', 'core.autocrlf', 'true');
      write('.gitattributes', '*.sh text eol=lf\n*.bat text eol=crlf\n');
      write('a.txt', 'a\r\nb\r\n');
      write('b.bat', 'a\r\n');
      commit();
      git('config', 'core.safecrlf', 'true');
      write('c.txt', 'c\r\nd\r\n');
    },
  },
  'odd names': {
    build: ({ write, commit }) => {
      const names = [
        'caf\xe9',
        'd\xff\xfe/\x80',
        'new\nline',
        '\x1b[31m',
        '-dash',
        ':(glob)*',
        '"',
        '\\',
        'n'.repeat(255),
      ];
      for (const name of names) write(name, 'tracked');
      commit();
      for (const name of names) write(`untracked/${name}`, 'untracked');
    },
  },
  'a split index': {
    build: ({ git, write, commit }) => {
      git('update-index', '--split-index');
      write('a', 'a');
      commit();
      write('b', 'b');
      git('add', 'b');
    },
  },
  'a file system monitor and an untracked cache': {
    build: ({ dir, git }) => {
      const hook = join(dir, '.git/hooks/monitor');
      writeFileSync(hook, `#!/bin/sh\necho asked >> ${dir}/.git/asked\nexit 1\n`);
      chmodSync(hook, 0o755);
      git('config', 'core.untrackedCache', 'true');
      git('update-index', '--untracked-cache', '--force-untracked-cache');
      git('config', 'core.fsmonitor', hook);
    },
  },
  'hooks that refuse everything': {
    build: ({ dir }) => {
      const names = [
        'pre-commit',
        'post-index-change',
        'reference-transaction',
        'pre-push',
        'post-checkout',
        'pre-auto-gc',
      ];
      for (const name of names) {
        writeFileSync(join(dir, '.git/hooks', name), '#!/bin/sh\necho refused >&2\nexit 1\n');
        chmodSync(join(dir, '.git/hooks', name), 0o755);
      }
    },
  },
  'reflogs of everything, and a stash': {
    build: ({ git, write }) => {
      git('config', 'core.logAllRefUpdates', 'always');
      write('stashed', 'x');
      git('stash', '-q', '-u');
    },
  },
  '20,000 branches': {
    build: ({ dir, git }) => {
      const id = git('rev-parse', 'HEAD');
      const lines = Array.from({ length: 20_000 }, (_, at) => `create refs/heads/many/${at} ${id}\n`);
      runGit(dir, ['update-ref', '--stdin'], lines.join(''));
      git('pack-refs', '--all');
    },
  },
  'big packs with a multi-pack-index and a bitmap': {
    build: ({ git, write, commit }) => {
      for (const round of [1, 2, 3]) {
        write('big', random(6_000_000, round));
        commit();
        git('repack', '-dq');
      }
      git('multi-pack-index', 'write', '--bitmap');
    },
  },
  'a commit-graph': { build: ({ git }) => void git('commit-graph', 'write', '--reachable', '--changed-paths') },
  alternates: { clone: ['--shared'] },
  'a linked work tree': {
    build: ({ dir, git }) => {
      const linked = join(dirname(dir), `${dir.split('/').pop()}-linked`);
      git('worktree', 'add', '-q', '-b', 'linked', linked);
      return placeAt(linked);
    },
  },
  bare: { clone: ['--bare'], isBare: true },
  'folded case': {
    build: ({ git, write }) => {
      git('config', 'core.ignoreCase', 'true');
      write('README', 'a');
      write('src/Main', 'b');
    },
  },
  'symbolic links': {
    build: ({ dir, git, write, commit }) => {
      write('folder/file', 'x');
      symlinkSync('folder', join(dir, 'to-folder'));
      symlinkSync('/nonexistent', join(dir, 'dangling'));
      write('was-folder/file', 'x');
      commit();
      rmSync(join(dir, 'was-folder'), { recursive: true });
      symlinkSync('/dev', join(dir, 'was-folder'));
      symlinkSync('loop', join(dir, 'loop'));
      git('status');
    },
  },
  'executable bits': {
    build: ({ dir, git, write, commit }) => {
      for (const name of ['run', 'plain']) write(name, '#!/bin/sh\n');
      chmodSync(join(dir, 'run'), 0o755);
      commit();
      chmodSync(join(dir, 'plain'), 0o755);
      git('config', 'core.fileMode', 'true');
    },
  },
  'a merge in progress': {
    // The tree of a step has the file with its marks.
    missing: /top has a conflict that is not resolved/,
    build: ({ dir, git, write, commit }) => {
      git('checkout', '-qb', 'side');
      write('top', 'side\n');
      commit();
      git('checkout', '-q', 'main');
      write('top', 'main\n');
      commit();
      try {
        git('merge', '-q', 'side');
      } catch {
        appendFileSync(join(dir, 'top'), 'half resolved\n');
      }
    },
  },
  'an index of version 4': {
    build: ({ git, write }) => {
      git('update-index', '--index-version', '4');
      write('a', 'a');
    },
  },
  'a lock on the index': { build: ({ write }) => write('.git/index.lock', '') },
  'objects of SHA-256': { init: ['--object-format=sha256'] },
  'pipes and sockets': {
    build: ({ dir }) => {
      mkdirSync(join(dir, 'run'));
      execFileSync('mkfifo', [join(dir, 'run/pipe'), join(dir, 'pipe')], { env: isolatedGitEnvironment });
    },
    missing: /pipe is no file, link or folder/,
  },
};
