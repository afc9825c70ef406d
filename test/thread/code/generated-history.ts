import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { randomFrom } from '../../helpers/mutants.ts';
import {
  createTemporaryFolder,
  createTemporaryRepository,
  isolatedGitEnvironment,
  runGit,
  temporaryRepositoryAt,
  type TemporaryRepository,
} from '../../helpers/temporary-repository.ts';

/** A history in which a user and a thread went on from one commit. */
export type GeneratedHistory = {
  /** The user's repository, with `main` checked out. */
  repository: TemporaryRepository;
  base: string;
  /** The commit that the thread left checked out. */
  checkedOut: string;
  /** The files that it left. */
  tree: string;
};

type Random = (below: number) => number;

const attributes = `* text=auto
*.crlf text eol=crlf
*.rot filter=rot
*.bin binary
*.union merge=union
*.drive merge=own
*.keep merge=ours
*.whole -merge
`;
const attributesOfFiles = ['text eol=lf', 'text eol=crlf', 'merge=union', 'merge=own', '-merge'];
const endings = ['txt', 'txt', 'crlf', 'rot', 'bin', 'union', 'drive', 'keep', 'whole'];
const folders = ['', 'a/', 'a/deep/', 'b/', 'à "b"\n/'];

/**
 * Makes the history that belongs to a seed: every seed gives another one, and the same each time.
 *
 * @param hasFoldersForFiles whether folders replace files, which git's checkout cannot always merge
 */
export function generateHistory(seed: number, hasFoldersForFiles: boolean = false): GeneratedHistory {
  const chance = randomFrom(seed);
  const random: Random = (below) => Math.floor(chance() * below);
  const kinds = hasFoldersForFiles ? KINDS + 1 : KINDS;
  const repository = createTemporaryRepository();
  const { dir, git } = repository;
  git('config', 'merge.own.driver', 'cat %B >> %A');
  git('config', 'merge.ours.driver', 'true');
  git('config', 'filter.rot.clean', 'tr a-z n-za-m');
  git('config', 'filter.rot.smudge', 'tr a-z n-za-m');
  if (random(4) === 0) git('config', 'merge.renormalize', 'true');
  if (random(4) === 0) git('config', 'merge.conflictStyle', 'diff3');
  if (random(5) === 0) git('config', 'merge.ff', 'false');
  writeFileSync(join(dir, '.gitattributes'), attributes);
  writeFileSync(join(dir, '.gitignore'), '*.ignored\n');
  for (let each = 0; each < 8; each += 1) addFile(dir, random, `${each}`);
  const hasSubmodule = random(3) === 0;
  if (hasSubmodule) addSubmodule(repository);
  commitAll(dir, 'base');
  const base = git('rev-parse', 'HEAD');

  const work = join(createTemporaryFolder(), 'work');
  git('worktree', 'add', '--quiet', '--detach', work);
  if (hasSubmodule) fileGit(work, 'submodule', '--quiet', 'update', '--init');
  for (let commits = random(3); commits > 0; commits -= 1) {
    mutate(work, random, 'theirs', kinds);
    commitAll(work, `theirs ${commits}`);
  }
  const checkedOut = runGit(work, ['rev-parse', 'HEAD']);
  if (random(5) > 0) mutate(work, random, 'theirs', kinds);
  runGit(work, ['add', '--all']);
  const tree = runGit(work, ['write-tree']);
  runGit(dir, ['worktree', 'remove', '--force', '--force', work]);

  for (let commits = random(3); commits > 0; commits -= 1) {
    mutate(dir, random, 'ours', kinds);
    commitAll(dir, `ours ${commits}`);
  }
  if (random(4) === 0) git('sparse-checkout', 'set', ...(random(2) === 0 ? ['--cone', 'a'] : ['--no-cone', '/a/']));
  // Until its times are looked at again, git takes a file for a changed one.
  git('status', '--porcelain');
  return { repository, base, checkedOut, tree };
}

/** A copy of a repository, with its work tree and its index. */
export function copyOf({ dir }: TemporaryRepository): TemporaryRepository {
  const copy = createTemporaryFolder();
  cpSync(dir, copy, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
  return temporaryRepositoryAt(copy);
}

/** Runs git where it may fail. */
export function tryGit(dir: string, ...args: string[]): { code: number | null; said: string } {
  const { status, stdout, stderr } = spawnSync('git', args, {
    cwd: dir,
    env: { ...isolatedGitEnvironment, GIT_EDITOR: ':' },
    encoding: 'utf8',
  });
  return { code: status, said: stdout + stderr };
}

function commitAll(dir: string, message: string): void {
  runGit(dir, ['add', '--all']);
  runGit(dir, ['commit', '--quiet', '--allow-empty', '-m', message]);
}

function mutate(dir: string, random: Random, whose: string, kinds: number): void {
  for (let changes = 1 + random(4); changes > 0; changes -= 1) change(dir, random, whose, kinds);
}

/** Kinds of changes, but for a folder in place of a file. */
const KINDS = 11;

function change(dir: string, random: Random, whose: string, kinds: number): void {
  const files = filesIn(dir);
  const path = files[random(files.length)];
  if (path === undefined) return addFile(dir, random, whose);
  const file = join(dir, path);
  switch (random(kinds)) {
    case 0:
      return addFile(dir, random, `${whose}${random(3)}`);
    case 1:
      return rmSync(file);
    case 2:
      return move(
        file,
        join(dir, folders[random(folders.length)] ?? '', `moved${random(4)}.${path.split('.').at(-1)}`),
      );
    case 3:
      if (!lstatSync(file).isSymbolicLink()) chmodSync(file, statSync(file).mode ^ 0o111);
      return;
    case 4:
      rmSync(file);
      return symlinkSync(`target-${random(3)}`, file);
    case 5:
      return moveFolder(dir, random);
    case 6:
      return appendFileSync(
        join(random(2) === 0 ? dirname(file) : dir, '.gitattributes'),
        `${basename(file)} ${attributesOfFiles[random(attributesOfFiles.length)]}\n`,
      );
    case 7:
      return moveSubmodule(dir, random);
    case KINDS:
      rmSync(file);
      mkdirSync(file);
      return writeFileSync(join(file, 'inside.txt'), `by ${whose}\n`);
    default:
      return edit(file, random, whose);
  }
}

function addFile(dir: string, random: Random, name: string): void {
  const ending = endings[random(endings.length)] ?? 'txt';
  const file = join(dir, folders[random(folders.length)] ?? '', `f${name}.${ending}`);
  mkdirSync(dirname(file), { recursive: true });
  const lines = Array.from({ length: 12 }, (_, at) => `line ${at} of ${name}`);
  const content = ending === 'bin' ? Buffer.from([0, random(255), 1, 2]) : `${lines.join('\n')}\n`;
  if (!existsSync(file)) writeFileSync(file, content);
}

function edit(file: string, random: Random, whose: string): void {
  if (lstatSync(file).isSymbolicLink()) return;
  if (file.endsWith('.bin')) return writeFileSync(file, Buffer.from([0, random(255), 3]));
  const lines = readFileSync(file, 'utf8').split(/\r?\n/);
  lines[random(4) * 3] = `by ${whose} ${random(3)}`;
  writeFileSync(file, lines.join(file.endsWith('.crlf') ? '\r\n' : '\n'));
}

function move(from: string, to: string): void {
  if (existsSync(to)) return;
  mkdirSync(dirname(to), { recursive: true });
  renameSync(from, to);
}

function moveFolder(dir: string, random: Random): void {
  const from = join(dir, random(2) === 0 ? 'a' : 'b');
  if (existsSync(from)) move(from, join(dir, `folder${random(2)}`));
}

function addSubmodule({ dir }: TemporaryRepository): void {
  const other = createTemporaryRepository();
  for (const text of ['one', 'two', 'three']) {
    writeFileSync(join(other.dir, 'text'), text);
    commitAll(other.dir, text);
    other.git('tag', text);
  }
  other.git('checkout', '--quiet', '-b', 'side', 'one');
  writeFileSync(join(other.dir, 'side'), 'side');
  commitAll(other.dir, 'side');
  other.git('tag', 'aside');
  fileGit(dir, 'submodule', '--quiet', 'add', other.dir, 'sub');
  runGit(join(dir, 'sub'), ['checkout', '--quiet', 'one']);
}

function moveSubmodule(dir: string, random: Random): void {
  if (existsSync(join(dir, 'sub', '.git')))
    runGit(join(dir, 'sub'), ['checkout', '--quiet', ['one', 'two', 'three', 'aside'][random(4)] ?? 'one']);
}

function fileGit(dir: string, ...args: string[]): void {
  runGit(dir, ['-c', 'protocol.file.allow=always', ...args]);
}

/** Files that may change, from the top. */
function filesIn(dir: string, below: string = ''): string[] {
  return readdirSync(join(dir, below), { withFileTypes: true }).flatMap((entry) => {
    const path = `${below}${entry.name}`;
    if (entry.name.startsWith('.git') || path === 'sub') return [];
    return entry.isDirectory() ? filesIn(dir, `${path}/`) : [path];
  });
}
