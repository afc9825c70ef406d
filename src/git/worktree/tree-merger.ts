import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { UwfError } from '../../errors.ts';
import { ObjectMissing, storing } from '../format/errors.ts';
import { type GitObject, hashObject, type ObjectFormat, type ObjectId, parseObjectId } from '../format/object-id.ts';
import { encodeCommit, kindOfMode } from '../format/objects.ts';
import { isDotGit } from '../format/paths.ts';
import { isRefName } from '../format/refs.ts';
import { formatGitVariables, type GitVariable, listGitVariables } from '../process/git-variables.ts';
import { durablePacks, type GitPlace, isOlderGit, readGitVersion, runGit } from '../process/run-git.ts';
import type { GitEnvironment, Repository, RepositoryLocation } from '../repository.ts';
import { FALLBACK_COMMITTER } from '../repository/repository-config.ts';
import { objectFolderOf, objectsApart, packLooseObjects, Quarantine, removeKeeps } from '../stores/quarantine.ts';
import { type ObjectReader, readAnyTree } from '../stores/read.ts';
import { mergesFolder } from './merge-folder.ts';
import { asRefusal } from './merge-target.ts';

export type MergePlace = {
  repository: Repository;
  env: GitEnvironment;
  signal?: AbortSignal | undefined;
};

type MergeSides = {
  base: ObjectId;
  ours: ObjectId;
  theirs: ObjectId;
  /** The name of `theirs` in conflict markers and messages; any text. */
  name: string;
};

/** Objects of a merge that no ref leads to yet. */
export type MergedObjects = {
  /** Objects that the caller has to write together with the commit that refers to the tree. */
  objects: readonly GitObject[];
  /** Call it when a ref leads to the tree, or never will: the other objects are protected until then. */
  release: () => void;
};

/** The first git with `merge-tree --write-tree`. */
const OLDEST_GIT = [2, 38] as const;

/** Reads the version of a git that can merge without a checkout. @throws {UwfError} `git-too-old` */
export async function requireMergingGit(git: GitPlace): Promise<string> {
  const version = await readGitVersion(git);
  if (version !== undefined && !isOlderGit(version, OLDEST_GIT)) return version;
  throw new UwfError(`git is ${version ?? 'of an unknown version'}, too old to merge branches`, {
    code: 'git-too-old',
    kind: 'environment',
    hint: `install git ${OLDEST_GIT.join('.')} or newer`,
    facts: { version },
  });
}

/** The name of our side in conflict markers and messages, as in a checkout. */
const OURS = 'HEAD';
/** Stands before the name of their side, which alone could be an id, or the name of a file of git's. */
const THEIRS = 'branch/';
const MAX_NAME_BYTES = 100;

/**
 * A git folder of its own in which trees are merged. Of this machine it has the configured merge drivers and nothing else: no
 * configuration, no `info/attributes`, no replaced objects, no repositories of submodules. Its work tree has the
 * `.gitattributes` of our side. New objects are in quarantine. If the process is killed, the next merge or `uwf gc` removes the
 * folder.
 */
export class TreeMerger {
  /** Where git sees the objects of the repository and the new ones. */
  readonly git: GitPlace & { signal: AbortSignal | undefined };
  /** `2.39.5` */
  readonly gitVersion: string;
  readonly #quarantine: Quarantine;
  readonly #format: ObjectFormat;
  readonly #objects: ReturnType<typeof objectsApart>;
  readonly #attributes: AttributeFiles;
  readonly #driverRan: string;

  private constructor(
    { repository: { objects, stateDir }, env, signal }: MergePlace,
    location: RepositoryLocation,
    gitVersion: string,
    variables: readonly GitVariable[],
  ) {
    if (stateDir === undefined) throw notOnDisk();
    this.gitVersion = gitVersion;
    this.#quarantine = new Quarantine(mergesFolder(stateDir), objectFolderOf(location, env));
    const { path } = this.#quarantine;
    const [gitDir, workTree] = [join(path, 'git'), join(path, 'files')];
    this.#driverRan = join(path, 'driver-ran');
    const variablesOfGit = { ...mergeEnvironment(env, this.#driverRan), ...this.#quarantine.variables(env) };
    this.git = { location: { gitDir, commonDir: gitDir, workTree }, env: variablesOfGit, signal };
    this.#format = objects.format;
    this.#objects = objectsApart(objects, location, variablesOfGit);
    this.#attributes = new AttributeFiles(workTree, this.#objects, this.#format);
    storing(path, () => {
      for (const folder of [join(gitDir, 'refs'), join(gitDir, 'objects'), workTree]) makeFolder(folder);
      writeFileSync(join(gitDir, 'HEAD'), 'ref: refs/heads/none\n');
      writeFileSync(join(gitDir, 'config'), mergeConfiguration(this.#format, notingDrivers(variables)));
    });
  }

  /**
   * @param hasDrivers whether configured merge drivers run, as they do in git; if not, their files are merged as text
   * @throws {UwfError} `git-too-old` before git 2.38, `no-place-for-files` if the repository is not on a disk
   */
  static async create(place: MergePlace, hasDrivers: boolean): Promise<TreeMerger> {
    const { location } = place.repository;
    if (location === undefined) throw notOnDisk();
    const git = { location, env: place.env };
    const gitVersion = await requireMergingGit(git);
    return new TreeMerger(place, location, gitVersion, hasDrivers ? await listGitVariables(git) : []);
  }

  get hasDriverRun(): boolean {
    return existsSync(this.#driverRan);
  }

  /** Merges three trees. @throws {UwfError} `merge-refused` with git's words if git cannot */
  async merge({ base, ours, theirs, name }: MergeSides): Promise<MergeTreeOutput> {
    const parent = this.#commit(base, []);
    const label = labelOf(name);
    this.#point(OURS, this.#commit(ours, [parent]));
    // A name can be a folder of another.
    rmSync(join(this.git.location.gitDir, 'refs', THEIRS), { recursive: true, force: true });
    this.#point(`refs/${label}`, this.#commit(theirs, [parent]));
    try {
      await this.#attributes.show(ours, (args) => runGit({ ...this.git, args }));
      const args = ['merge-tree', '--write-tree', '-z', OURS, label];
      return parseMergeTree(await runGit({ ...this.git, args, codes: [CLEAN, CONFLICTS] }));
    } catch (error) {
      throw asRefusal(error);
    }
  }

  /** Readies what the repository does not have of a tree and some blobs. */
  async takeOver(tree: ObjectId, blobs: readonly ObjectId[]): Promise<MergedObjects> {
    const made = await this.#newObjects(tree, blobs);
    const objects = await packLooseObjects({ ...this.git, settings: durablePacks }, this.#quarantine, made);
    const keeps = this.#quarantine.takeOver();
    return { objects, release: () => removeKeeps(keeps) };
  }

  async remove(): Promise<void> {
    await this.#objects.close();
    this.#quarantine.remove();
  }

  /** The reachable ones: earlier merges have left others. An object of the repository leads to no new one. */
  async #newObjects(tree: ObjectId, blobs: readonly ObjectId[]): Promise<ObjectId[]> {
    const made = new Set(this.#quarantine.looseFiles().ids);
    const found = new Set(blobs.filter((id) => made.has(id)));
    const walk = async (folder: ObjectId): Promise<void> => {
      found.add(folder);
      for (const { id, mode } of await readAnyTree(this.#objects, folder)) {
        if (!made.has(id) || found.has(id)) continue;
        if (kindOfMode(mode) === 'folder') await walk(id);
        else found.add(id);
      }
    };
    if (made.has(tree)) await walk(tree);
    return [...found];
  }

  #commit(tree: ObjectId, parents: ObjectId[]): ObjectId {
    const author = { ...FALLBACK_COMMITTER, atMs: 0 };
    const data = encodeCommit({ tree, parents, author, committer: author, message: '' });
    return this.#quarantine.write({ type: 'commit', data }, this.#format);
  }

  #point(name: string, id: ObjectId): void {
    const path = join(this.git.location.gitDir, name);
    storing(path, () => {
      makeFolder(dirname(path));
      writeFileSync(path, `${id}\n`);
    });
  }
}

/** Exit codes of `git merge-tree`. */
const [CLEAN, CONFLICTS] = [0, 1];

/** git prints the name that it is given. One that it could not resolve is replaced. */
function labelOf(name: string): string {
  const label = `${THEIRS}${name}`;
  return isRefName(`refs/${label}`) && Buffer.byteLength(name) <= MAX_NAME_BYTES ? label : `${THEIRS}theirs`;
}

function notOnDisk(): UwfError {
  return new UwfError('the repository is not on a disk', { code: 'no-place-for-files', kind: 'usage' });
}

function makeFolder(path: string): void {
  mkdirSync(path, { recursive: true });
}

/** An entry of an index for a file with a conflict. Source: git-ls-files(1), "OUTPUT". */
export type ConflictStage = {
  /** As git writes modes: `100644`. */
  mode: string;
  id: ObjectId;
  /** 1 for the base, 2 for our side, 3 for theirs. */
  stage: number;
  /** In Latin-1: each byte is a character. */
  path: string;
};

/** Git's report of one conflict. Paths are in Latin-1; the first is the one that git reports the conflict for. */
type ToldConflict = { kind: string; message: string; paths: string[] };

/** What `git merge-tree` printed. */
export type MergeTreeOutput = {
  /** The merged tree; files with conflicts have markers, or the content of one side. */
  tree: ObjectId;
  stages: ConflictStage[];
  conflicts: ToldConflict[];
};

/** `CONFLICT (contents)`, and in some places without the space. */
const conflictKind = /^CONFLICT ?\((.*)\)$/s;

/**
 * Reads what `git merge-tree --write-tree -z` prints: the tree; if there are conflicts, entries up to an empty field, and
 * messages, each of a number of paths, the paths, a kind and a text. Messages that are not about conflicts are left out.
 * Source: git-merge-tree(1), "OUTPUT".
 */
function parseMergeTree(printed: Buffer): MergeTreeOutput {
  const fields = printed.toString('latin1').split('\0');
  const tree = parseObjectId(fields[0] ?? '');
  const end = fields.indexOf('', 1);
  const stages = fields.slice(1, end).map(parseStage);
  const conflicts: ToldConflict[] = [];
  for (let at = end + 1; at + 1 < fields.length;) {
    const paths = fields.slice(at + 1, at + 1 + Number(fields[at]));
    at += 1 + paths.length;
    const kind = conflictKind.exec(fields[at] ?? '')?.[1];
    const message = Buffer.from(fields[at + 1] ?? '', 'latin1')
      .toString('utf8')
      .trimEnd();
    if (kind !== undefined) conflicts.push({ kind, message, paths });
    at += 2;
  }
  return { tree, stages, conflicts };
}

function parseStage(line: string): ConflictStage {
  const tab = line.indexOf('\t');
  const [mode = '', id = '', stage = ''] = line.slice(0, tab).split(' ');
  return { mode, id: parseObjectId(id), stage: Number(stage), path: line.slice(tab + 1) };
}

const NAME = '.gitattributes';

/** The `.gitattributes` of a tree as files of a folder, all others left out: git reads the names of merge drivers from files. */
class AttributeFiles {
  readonly #top: string;
  readonly #objects: ObjectReader;
  /** The tree whose files are there. */
  #shown: ObjectId;

  /** @param top the folder, which is empty */
  constructor(top: string, objects: ObjectReader, format: ObjectFormat) {
    this.#top = top;
    this.#objects = objects;
    this.#shown = hashObject({ type: 'tree', data: new Uint8Array() }, format);
  }

  /**
   * Replaces the files by those of another tree. Contents are as git stores them: no filter runs, and line ends stay. Links are
   * left out, because git follows none to its attributes.
   * @param git runs git where it has both trees
   */
  async show(tree: ObjectId, git: (args: readonly string[]) => Promise<Buffer>): Promise<void> {
    const listing = ['diff-tree', '-r', '-z', '--raw', '--no-renames', '--no-abbrev', this.#shown, tree];
    const fields = (await git([...listing, '--', `:(glob)**/${NAME}`])).toString('latin1').split('\0');
    const files = new Map<string, ObjectId>();
    for (let at = 0; at + 1 < fields.length; at += 2) {
      const [, mode = '', , id = ''] = (fields[at] ?? '').split(' ');
      const path = fields[at + 1] ?? '';
      if (!isAttributesFile(path)) continue;
      // Before any is written: a folder of this name can become a file.
      rmSync(this.#at(path), { recursive: true, force: true });
      if (mode.startsWith('100')) files.set(path, parseObjectId(id));
    }
    for (const [path, id] of files) await this.#write(path, id);
    this.#shown = tree;
  }

  async #write(path: string, id: ObjectId): Promise<void> {
    const blob = await this.#objects.read(id);
    if (blob === undefined) throw new ObjectMissing(id);
    storing(this.#top, () => {
      mkdirSync(this.#at(path.slice(0, -NAME.length)), { recursive: true });
      writeFileSync(this.#at(path), blob.data);
    });
  }

  #at(path: string): Buffer {
    return Buffer.concat([Buffer.from(`${this.#top}/`), Buffer.from(path, 'latin1')]);
  }
}

/** A tree can have names that lead out of the folder. */
function isAttributesFile(path: string): boolean {
  const parts = Buffer.from(path, 'latin1').toString('utf8').split('/');
  return parts.pop() === NAME && !parts.some((part) => part === '' || part === '.' || part === '..' || isDotGit(part));
}

type Setting = Pick<GitVariable, 'name' | 'value'>;

/** The defaults of git that decide what a merge gives. They are written down because they change between its versions. */
const defaults: Readonly<Record<string, string>> = {
  'merge.renames': 'true',
  'merge.directoryrenames': 'conflict',
  'merge.renamelimit': '7000',
  'merge.conflictstyle': 'merge',
  'merge.renormalize': 'false',
  'diff.algorithm': 'histogram',
  // Decides which patterns of attributes match.
  'core.ignorecase': 'false',
  'core.attributesfile': '/dev/null',
};

/** The whole configuration of a repository in which trees are merged. */
function mergeConfiguration(format: ObjectFormat, drivers: readonly Setting[]): string {
  const settings = Object.entries({
    'core.repositoryformatversion': '1',
    ...(format !== 'sha1' && { 'extensions.objectformat': format }),
    ...defaults,
  }).map(([name, value]) => ({ name, value }));
  return formatGitVariables([...settings, ...drivers]);
}

/** The variable that names the file which a driver makes when it runs. */
const ranVariable = 'UWF_MERGE_DRIVER_RAN';

/**
 * The configured merge drivers; each notes first that it runs.
 * Source: gitattributes(5), "Defining a custom merge driver": a shell runs it.
 */
function notingDrivers(variables: readonly GitVariable[]): Setting[] {
  return variables.flatMap(({ name, value }) =>
    /^merge\..+\.driver$/s.test(name) && value !== undefined ? [{ name, value: `: >"$${ranVariable}"; ${value}` }] : [],
  );
}

/**
 * The environment of a merge: no variable of git's that changes what it reads, and no configuration or attributes of the user
 * and the system.
 * @param driverRan the file that a driver makes when it runs
 */
function mergeEnvironment(env: GitEnvironment, driverRan: string): GitEnvironment {
  const others = Object.entries(env).filter(([name]) => !name.startsWith('GIT_') || name === 'GIT_EXEC_PATH');
  return {
    ...Object.fromEntries(others),
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    [ranVariable]: driverRan,
  };
}
