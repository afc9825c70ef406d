import { parseGitConfig } from '../../format/config.ts';
import { FALLBACK_COMMITTER } from '../../repository/identity.ts';
import {
  assertOrdinaryFormat,
  readRepositoryFormat,
  unsupportedRepository,
} from '../../repository/repository-format.ts';
import { RepositoryNotFound } from '../../repository/repository-not-found.ts';
import type { Identity, Repository } from '../../repository.ts';
import { PortableFileSystem } from './file-system.ts';
import type { FsClient } from './file-system.ts';
import { PortableObjectStore } from './object-store.ts';
import { PortableRefStore } from './ref-store.ts';

/** Where a portable repository lies, and its options. */
export type PortableOptions = {
  fs: FsClient;
  /** The top of a work tree (its `.git` is looked up, a file included), or a bare repository. */
  dir?: string;
  /** The repository's own folder; wins over `dir`. */
  gitdir?: string;
  /** Makes the repository if there is none; without it that is an error. */
  create?: boolean;
  now?: () => number;
  committer?: Identity;
};

/**
 * Opens a repository over any file system: in memory, in a browser, in a bundle.
 *
 * For one process only, because there are no locks between processes. Within the process, changes run one after the other,
 * and refs change by compare-and-swap. There is no location, no state folder, and no remote. In a browser, a bundler has to
 * stand in for Node's modules, and agents that are programs cannot run.
 * @throws {RepositoryNotFound} if there is none and `create` is not set
 * @throws {UwfError} `unsupported-repository` for an unknown format, and for a linked worktree unless `gitdir` names the
 * repository that it belongs to
 */
export async function openPortableRepository(options: PortableOptions): Promise<Repository> {
  const { fs } = options;
  const gitdir = await resolveGitdir(options);
  const files = new PortableFileSystem(fs, gitdir);
  if ((await files.readText(`${gitdir}/HEAD`)) === undefined) {
    if (options.create !== true) throw new RepositoryNotFound(options.gitdir ?? options.dir ?? '/');
    const git = await import('isomorphic-git');
    const bare = options.dir === undefined;
    await git.init({ fs, gitdir, bare, defaultBranch: 'main', ...(bare ? {} : { dir: options.dir }) });
  }
  const config = (await files.readText(`${gitdir}/config`)) ?? '';
  if ((await files.kindOf(`${gitdir}/commondir`)) !== undefined) {
    const hint = 'name the repository that it belongs to with gitdir: refs and objects are there';
    throw unsupportedRepository(gitdir, 'a linked worktree', hint);
  }
  assertOrdinaryFormat(readRepositoryFormat(parseGitConfig(config, `${gitdir}/config`), gitdir), gitdir);
  const now = options.now ?? Date.now;
  const objects = new PortableObjectStore(files, gitdir, now);
  return {
    objects,
    refs: new PortableRefStore(files, gitdir, fs),
    location: undefined,
    stateDir: undefined,
    committer: options.committer ?? FALLBACK_COMMITTER,
    now,
    close: () => objects.close(),
  };
}

async function resolveGitdir(options: PortableOptions): Promise<string> {
  if (options.gitdir !== undefined) return withoutTrailingSlash(options.gitdir);
  const dir = withoutTrailingSlash(options.dir ?? '');
  const files = new PortableFileSystem(options.fs, dir);
  const link = await files.readText(`${dir}/.git`);
  if (link !== undefined) {
    const target = /^gitdir: (.*?)[\r\n]*$/s.exec(link)?.[1];
    if (target === undefined) throw new RepositoryNotFound(`${dir}/.git`, "it does not start with 'gitdir: '");
    const isAbsolute = target.startsWith('/') || /^[A-Za-z]:[\\/]/.test(target);
    return withoutTrailingSlash(isAbsolute ? target : `${dir}/${target}`);
  }
  const isBare =
    (await files.kindOf(`${dir}/.git`)) === undefined &&
    (await files.kindOf(`${dir}/HEAD`)) === 'file' &&
    (await files.kindOf(`${dir}/objects`)) === 'folder' &&
    (await files.kindOf(`${dir}/refs`)) === 'folder';
  return isBare ? dir : `${dir}/.git`;
}

function withoutTrailingSlash(path: string): string {
  return path.replace(/(?<=.)\/+$/, '');
}
