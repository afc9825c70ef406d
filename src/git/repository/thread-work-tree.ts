import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { parseJson } from '../../json.ts';
import { arrayOf, isString, objectOf, stringThat } from '../../shape.ts';
import { isObjectId, type ObjectId } from '../format/object-id.ts';
import { isRefName } from '../format/ref-name.ts';
import type { RefName } from '../ref-store.ts';
import { share } from '../system/sharing.ts';
import { readIfThere } from './git-directory.ts';
import { configuredWorkTree, readRepositoryConfig } from './repository-config.ts';
import type { RepositoryLocation } from '../repository.ts';

/** A file in the git folder of a linked work tree: uwf made the work tree, for the files of an agent. */
const MARK = 'uwf-made-for-thread';

/** Which thread a work tree belongs to, and which commit of the thread has its files. */
export type ThreadNote = {
  /** The id of the thread's ref. */
  thread: string;
  /** The step whose snapshot the files are, or the start, whose base they are. */
  at: ObjectId;
  /** The branch that was made for it, and the commit that was checked out there at `at`. */
  branch: RefName;
  commit: ObjectId;
};

const isNote = objectOf<ThreadNote>({
  thread: isString,
  at: stringThat(isObjectId),
  branch: stringThat(isRefName),
  commit: stringThat(isObjectId),
});

/** A branch that was made for a work tree, and where it is if nothing was committed to it since. */
export type MadeBranch = Pick<ThreadNote, 'branch' | 'commit'>;

const isUnfinished = objectOf<{ unfinished: MadeBranch[] }>({
  unfinished: arrayOf(objectOf<MadeBranch>({ branch: stringThat(isRefName), commit: stringThat(isObjectId) })),
});

/** Marks a linked work tree as made for a thread. File system errors come through as they are. */
export function markMadeForThread(location: Pick<RepositoryLocation, 'gitDir'>): void {
  markUnfinished(location, []);
}

/** Notes that the files of a linked work tree are not whole, with the branches that go if it is removed. */
export function markUnfinished({ gitDir }: Pick<RepositoryLocation, 'gitDir'>, branches: readonly MadeBranch[]): void {
  write(gitDir, { unfinished: branches });
}

/** Notes which thread a linked work tree belongs to. */
export function noteThread({ gitDir }: Pick<RepositoryLocation, 'gitDir'>, note: ThreadNote): void {
  write(gitDir, note);
}

function write(gitDir: string, content: object): void {
  const file = join(gitDir, MARK);
  // A killed process must not leave an empty note: the work tree would lose its branch and pass for unfinished.
  writeFileSync(`${file}.tmp`, `${JSON.stringify(content)}\n`);
  share(`${file}.tmp`);
  renameSync(`${file}.tmp`, file);
}

/** The branches that were made for a work tree: that of its thread, or those of one that is not whole. */
export function branchesMadeFor({ gitDir }: Pick<RepositoryLocation, 'gitDir'>): readonly MadeBranch[] {
  const content = parseJson(readIfThere(join(gitDir, MARK)) ?? '');
  if (isUnfinished(content)) return content.unfinished;
  return isNote(content) ? [content] : [];
}

/** Which thread a linked work tree belongs to; `undefined` for one of a person, a restored step, or one that is not whole. */
export function readThreadNote({ gitDir }: Pick<RepositoryLocation, 'gitDir'>): ThreadNote | undefined {
  const note = parseJson(readIfThere(join(gitDir, MARK)) ?? '');
  return isNote(note) ? note : undefined;
}

/** Tells whether uwf made a linked work tree for a thread; false for work trees of people. */
export function isMadeForThread({ gitDir, commonDir }: Pick<RepositoryLocation, 'gitDir' | 'commonDir'>): boolean {
  return gitDir !== commonDir && existsSync(join(gitDir, MARK));
}

/**
 * The main work tree of a repository, found from any of its work trees; `undefined` for a bare repository.
 * Source: git-worktree(1); `get_main_worktree` in git's worktree.c, and gitrepository-layout(5) of `core.worktree`.
 */
export function mainWorkTree({ commonDir }: Pick<RepositoryLocation, 'commonDir'>): string | undefined {
  const configured = configuredWorkTree(readRepositoryConfig(commonDir, commonDir), commonDir);
  if (configured !== undefined) return configured ?? undefined;
  return basename(commonDir) === '.git' ? dirname(commonDir) : undefined;
}
