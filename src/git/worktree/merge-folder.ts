import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { GitObject, ObjectId } from '../format/object-id.ts';
import { pathAsText } from '../format/quote-path.ts';
import { GitFailed, runGit } from '../process/run-git.ts';
import { durablePacks } from '../process/spawn-git.ts';
import type { GitEnvironment, RepositoryLocation } from '../repository.ts';
import { objectFolderOf, Quarantine } from '../stores/quarantine.ts';
import { gitlinksIn } from './gitlinks.ts';
import type { MergeTarget } from './merge-target.ts';

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

/** The parent folder of merges in progress. */
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
   * @throws {StorageFull} / {StorageReadOnly}
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

  /** Runs git here. @throws {GitFailed} {GitNotFound} as `runGit` */
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
