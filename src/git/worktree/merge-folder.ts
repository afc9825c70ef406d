import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { type GitObject, type ObjectId, parseObjectId } from '../format/object-id.ts';
import { parseCommit } from '../format/objects.ts';
import { pathAsText } from '../format/paths.ts';
import { listGitVariables } from '../process/git-variables.ts';
import { durablePacks, GitFailed, type GitPlace, runGit } from '../process/run-git.ts';
import type { GitEnvironment, Repository, RepositoryLocation } from '../repository.ts';
import { objectFolderOf, Quarantine } from '../stores/quarantine.ts';
import { gitlinksIn } from './find-changes.ts';
import { asRefusal, type MergeTarget } from './merge-target.ts';

/** Merges must be the same on every machine, and touch nothing but their folder. */
const settings: readonly string[] = [
  // Few files are written: those with attributes, and those with conflicts.
  'core.sparseCheckout=true',
  'core.sparseCheckoutCone=false',
  'submodule.recurse=false',
  'rerere.enabled=false',
  // Refs of the repository would lead to objects in quarantine.
  'rebase.updateRefs=false',
  'notes.rewrite.rebase=false',
  'gc.auto=0',
  'maintenance.auto=false',
  ...durablePacks,
];

/** What git made in a merge folder. */
export type MergeOutcome =
  /** The commit that the target is to move to; the target's own commit if there is nothing to merge. */
  | { kind: 'merged'; commit: ObjectId }
  /** The files that both sides changed, as `pathAsText` writes them. */
  | { kind: 'conflict'; files: string[] };

export function mergesFolder(stateDir: string): string {
  return join(stateDir, 'merges');
}

/**
 * A work tree of git's in which a merge is tried before a user's work tree is touched. It is linked to no place where
 * `git worktree list` looks, has only files with attributes or conflicts, and its new objects are in quarantine. If the process is
 * killed, the next merge or `uwf gc` removes the folder.
 */
export class MergeFolder {
  readonly #quarantine: Quarantine;
  readonly #location: RepositoryLocation;
  readonly #env: GitEnvironment;
  readonly #signing: readonly string[];

  /**
   * @param at the commit that `HEAD` is detached at
   * @param signing the settings of `readSigning`
   */
  constructor(
    stateDir: string,
    { location }: MergeTarget,
    env: GitEnvironment,
    at: ObjectId,
    signing: readonly string[] = [],
  ) {
    this.#signing = signing;
    this.#quarantine = new Quarantine(mergesFolder(stateDir), objectFolderOf(location, env));
    this.#env = env;
    const gitDir = join(this.#quarantine.path, 'git');
    const workTree = join(this.#quarantine.path, 'files');
    mkdirSync(join(gitDir, 'info'), { recursive: true });
    mkdirSync(workTree);
    writeFileSync(join(gitDir, 'commondir'), `${location.commonDir}\n`);
    writeFileSync(join(gitDir, 'HEAD'), `${at}\n`);
    const own = join(location.gitDir, 'config.worktree');
    if (existsSync(own)) copyFileSync(own, join(gitDir, 'config.worktree'));
    this.#location = { gitDir, commonDir: location.commonDir, workTree };
  }

  /** Fills the index with the files of `HEAD`, and lets git find the repositories of submodules, as it does in the target. */
  async prepare(target: MergeTarget): Promise<void> {
    const patterns = await this.#attributeFiles(target);
    writeFileSync(join(this.#location.gitDir, 'info', 'sparse-checkout'), patterns.map((each) => `${each}\n`).join(''));
    await this.git(['read-tree', '-m', '-u', 'HEAD']);
    for (const gitlink of gitlinksIn(await this.git(['ls-files', '-s', '-z']))) {
      const path = Buffer.from(gitlink.path, 'latin1').toString('utf8');
      const gitDir = await this.#submoduleAt(target, path);
      if (gitDir === undefined) continue;
      const link = join(this.#location.workTree ?? '', path, '.git');
      mkdirSync(dirname(link), { recursive: true });
      writeFileSync(link, `gitdir: ${gitDir}\n`);
    }
  }

  git(args: readonly string[], input?: string | Uint8Array): Promise<Buffer> {
    const variables = { ...this.#quarantine.variables(this.#env), GIT_EDITOR: ':', GIT_SEQUENCE_EDITOR: ':' };
    const run = {
      location: this.#location,
      env: this.#env,
      variables,
      settings: [...settings, ...this.#signing],
      args,
      // A signer may need a passphrase.
      mayAsk: true,
    };
    return runGit(input === undefined ? run : { ...run, input });
  }

  /** Writes an object that the merge needs and the repository does not have. */
  async write({ type, data }: GitObject): Promise<void> {
    await this.git(['hash-object', '-t', type, '-w', '--stdin'], data);
  }

  /** Runs a command that merges. @returns the files with conflicts; none if it ended well */
  async merging(args: readonly string[]): Promise<string[]> {
    try {
      await this.git(args);
      return [];
    } catch (error) {
      const files = error instanceof GitFailed ? await unmergedFiles((listing) => this.git(listing)) : [];
      if (files.length === 0) throw error;
      return files;
    }
  }

  /** Moves the new objects into the repository. @returns what ends their protection */
  async takeOver(): Promise<() => void> {
    const { ids } = this.#quarantine.looseFiles();
    if (ids.length > 0) {
      const args = ['pack-objects', '--quiet', '--window=0', this.#quarantine.packPrefix];
      await this.git(args, `${ids.join('\n')}\n`);
    }
    const keeps = this.#quarantine.takeOver();
    return () => {
      for (const keep of keeps) keep.remove();
    };
  }

  remove(): void {
    this.#quarantine.remove();
  }

  /**
   * Patterns of the files with attributes that git is to have: it reads names of merge drivers from files, and only from
   * those that a sparse checkout has. Source: gitattributes(5), git-sparse-checkout(1).
   */
  async #attributeFiles({ location }: MergeTarget): Promise<string[]> {
    const args = ['ls-files', '-t', '-z', '--', ':(top,glob)**/.gitattributes'];
    const lines = (await runGit({ location, env: this.#env, args })).toString('utf8').split('\0');
    if (!lines.some((line) => line.startsWith('S '))) return ['.gitattributes'];
    const present = lines.filter((line) => line.startsWith('H ')).map((line) => line.slice(2));
    // A file must not be empty: git would then take all files.
    return ['!/*', ...present.map((path) => `/${path.replaceAll(/[*?[\]\\]/g, '\\$&')}`)];
  }

  /** The git folder of a submodule that is checked out in the target. */
  async #submoduleAt({ location }: MergeTarget, path: string): Promise<string | undefined> {
    const folder = join(location.workTree, path);
    if (!existsSync(join(folder, '.git'))) return undefined;
    const args = ['rev-parse', '--resolve-git-dir', join(folder, '.git')];
    const found = await runGit({ location, env: this.#env, args }).catch(() => undefined);
    return found && resolve(folder, found.toString('utf8').replace(/\n$/, ''));
  }
}

/** Lists the files with conflicts, each once. Source: git-ls-files(1), `--unmerged`. */
export async function unmergedFiles(git: (args: readonly string[]) => Promise<Buffer>): Promise<string[]> {
  const lines = (await git(['ls-files', '--unmerged', '-z'])).toString('latin1').split('\0');
  const paths = lines.filter((line) => line !== '').map((line) => pathAsText(line.slice(line.indexOf('\t') + 1)));
  return [...new Set(paths)];
}

/** How commits come into a branch: as `git merge`, `git merge --squash` with a commit, or `git rebase` does it. */
export type MergeMode = 'merge' | 'squash' | 'rebase';

export type MergeRequest = {
  mode: MergeMode;
  /** The target's commit. */
  head: ObjectId;
  tip: ObjectId;
  /** The commit that the work began with. */
  base: ObjectId;
  /** Of the commit that a merge or a squash makes. */
  message: string;
};

/**
 * Merges in a merge folder, whose `HEAD` is at {@link mergeStart} the request.
 * @throws {UwfError} `merge-refused` with git's words if git does not merge for another reason than a conflict
 */
export async function tryMerge(folder: MergeFolder, request: MergeRequest): Promise<MergeOutcome> {
  try {
    const files = await mergeThere(folder, request);
    if (files.length > 0) return { kind: 'conflict', files };
    const commit = parseObjectId((await folder.git(['rev-parse', '--verify', 'HEAD'])).toString('latin1').trim());
    return { kind: 'merged', commit };
  } catch (error) {
    throw asRefusal(error);
  }
}

/** The commit that a merge begins at: a rebase at the tip, all others at the target. */
export function mergeStart({ mode, head, tip }: MergeRequest): ObjectId {
  return mode === 'rebase' ? tip : head;
}

async function mergeThere(folder: MergeFolder, { mode, head, tip, base, message }: MergeRequest): Promise<string[]> {
  if (mode === 'merge') return folder.merging(mergeArguments(tip, message));
  if (mode === 'squash') {
    const files = await folder.merging(['merge', '--squash', '--ff', tip]);
    if (files.length > 0) return files;
    const changed = await folder.git(['diff-index', '--cached', '--name-only', '--ignore-submodules=none', head]);
    if (changed.length > 0) await folder.git(['commit', '--quiet', '--no-verify', '--file=-'], message);
    return [];
  }
  const isFromHere = await isAncestor((args) => folder.git(args), base, head);
  // Commits before the base that the branch does not have are not the thread's.
  return folder.merging(['rebase', '--quiet', '--merge', ...(isFromHere ? [head] : ['--onto', head, base])]);
}

export function mergeArguments(tip: ObjectId, message: string): string[] {
  return ['merge', '--no-edit', '-m', message, tip];
}

/** Tells whether a commit is another, or before it. */
async function isAncestor(
  git: (args: readonly string[]) => Promise<Buffer>,
  ancestor: ObjectId,
  of: ObjectId,
): Promise<boolean> {
  try {
    await git(['merge-base', '--is-ancestor', ancestor, of]);
    return true;
  } catch (error) {
    if (error instanceof GitFailed && error.said.trim() === '') return false;
    throw error;
  }
}

/** The newest commit that two commits have in common; `undefined` for unrelated histories. */
export async function mergeBase(git: GitPlace, a: ObjectId, b: ObjectId): Promise<ObjectId | undefined> {
  try {
    return parseObjectId((await runGit({ ...git, args: ['merge-base', a, b] })).toString('latin1').trim());
  } catch (error) {
    if (error instanceof GitFailed && error.said.trim() === '') return undefined;
    throw error;
  }
}

/**
 * Reads how `git commit` signs in a repository: the settings that make it sign in the same way elsewhere; `undefined` if it
 * does not sign. An include of the configuration can depend on the folder and the branch, so a git elsewhere may see others.
 * @throws {UwfError} `merge-refused` if the configuration says neither yes nor no
 * Source: git-config(1), `commit.gpgSign`, `gpg.*`, `user.signingKey`.
 */
export async function readSigning(git: GitPlace): Promise<string[] | undefined> {
  const args = ['config', '--type=bool', '--get', 'commit.gpgSign'];
  const asked = await runGit({ ...git, args, codes: [0, 1] }).catch((error: unknown) => {
    throw asRefusal(error);
  });
  if (asked.toString('latin1').trim() !== 'true') return undefined;
  const variables = await listGitVariables(git);
  return variables.flatMap(({ name, value }) => {
    if (!/^(?:commit\.gpgsign$|user\.signingkey$|gpg\.)/.test(name)) return [];
    return value === undefined ? name : `${name}=${fromTop(git, value)}`;
  });
}

/** git resolves relative paths from the top of the work tree. A program without a slash is on the PATH. */
function fromTop({ location: { workTree } }: GitPlace, value: string): string {
  const path = join(workTree ?? '', value);
  return workTree !== undefined && value.includes('/') && !isAbsolute(value) && existsSync(path) ? path : value;
}

/**
 * Lets git make a signed commit of an unsigned one, as `git commit` would sign it. Everything else in it stays. The
 * repository does not get it.
 * @throws {UwfError} `merge-refused` with git's words if the signer fails
 */
export async function signCommit(
  { stateDir, objects }: Repository,
  { location, env }: GitPlace,
  { data }: GitObject,
): Promise<GitObject> {
  if (stateDir === undefined) throw new TypeError('only git signs, and only on a disk');
  const { tree, parents, author, committer, message } = parseCommit(data, objects.format);
  const quarantine = new Quarantine(mergesFolder(stateDir), objectFolderOf(location, env));
  try {
    const made = await runGit({
      location,
      env,
      variables: {
        ...quarantine.variables(env),
        GIT_AUTHOR_NAME: author.name,
        GIT_AUTHOR_EMAIL: author.email,
        GIT_AUTHOR_DATE: dateOf(author),
        GIT_COMMITTER_NAME: committer.name,
        GIT_COMMITTER_EMAIL: committer.email,
        GIT_COMMITTER_DATE: dateOf(committer),
      },
      settings: ['i18n.commitEncoding=UTF-8'],
      args: ['commit-tree', '--gpg-sign', ...parents.flatMap((parent) => ['-p', parent]), '-F', '-', tree],
      input: message,
      // The signer may need a passphrase.
      mayAsk: true,
    });
    const id = parseObjectId(made.toString('latin1').trim());
    const [signed] = quarantine.looseObjects([id]);
    if (signed === undefined) throw new TypeError(`git did not write ${id}`);
    return signed;
  } catch (error) {
    throw asRefusal(error);
  } finally {
    quarantine.remove();
  }
}

function dateOf({ atMs }: { atMs: number }): string {
  return `@${Math.floor(atMs / 1000)} +0000`;
}
