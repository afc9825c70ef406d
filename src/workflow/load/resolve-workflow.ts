import { lstatSync, readdirSync, type Stats, statSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { isNodeHash, type NodeHash, prepareHashing } from '../../cas/hash.ts';
import { repositoryNodes } from '../../cas/lookup.ts';
import { UwfError } from '../../errors.ts';
import type { RefName, Repository } from '../../git/repository.ts';
import { placeInside } from '../../git/repository/git-directory.ts';
import { isWithin } from '../../git/system/files.ts';
import { orElse, succeeds } from '../../or-else.ts';
import { listNames } from '../../text/nearest-name.ts';
import { nameFromPath, validateWorkflow, whyNoWorkflowName } from '../check/validate-workflow.ts';
import type { WorkflowDefinition } from '../definition.ts';
import { encodeWorkflow, loadWorkflow } from '../nodes.ts';
import { reduceWorkflow } from '../notation/reduce-workflow.ts';
import { findWorkflow, WorkflowNotFound } from '../registry/find-workflow.ts';
import { workflowRef, WORKFLOWS_PREFIX } from '../registry/workflow-refs.ts';
import { diskReader, type ParsedSource, parseSource, type SourceReader } from '../source/read-source.ts';
import { type Diagnostic, InvalidWorkflow, Report, type SourceText } from '../source/source-map.ts';

/** Where workflow files of a repository lie, relative to the folder they belong to. */
const WORKFLOW_FOLDER: string = join('.uwf', 'workflows');
const extensions = ['.yaml', '.yml', '.json'];
/** The name, without extension, of the workflow's file in a workflow that is a folder. */
const FOLDER_FILE = 'index';

/** A workflow that an argument named, and how it was found. */
type ResolvedWorkflow = {
  definition: WorkflowDefinition;
  hash: NodeHash;
  origin: { kind: 'node' } | { kind: 'file'; file: string } | { kind: 'registry'; ref: RefName };
};

/**
 * Finds the workflow that an argument means: a hash, a path to a file, a name in `.uwf/workflows/` from `cwd` upward to
 * the work tree's top, a name in the registry; the first that exists. A workflow may be a folder with an `index.yaml`.
 *
 * @param argument with a slash or an extension it is a path and nothing else
 * @param options.cwd the folder to start from, absolute
 * @throws {UwfError} `workflow-not-found` if it is a folder without an index file
 * @throws {WorkflowNotFound} with the places that were tried and the nearest name
 * @throws {InvalidWorkflow} if the file that was found has mistakes; later places are not tried then
 */
export async function resolveWorkflow(
  repository: Repository,
  argument: string,
  options: { cwd: string },
): Promise<ResolvedWorkflow> {
  const { definition, hash, origin } = await resolveWithDiagnostics(repository, argument, options);
  return { definition, hash, origin };
}

/**
 * Finds the workflow that an argument means, as {@link resolveWorkflow} does.
 * @returns also the warnings in its file (an error is an exception); `undefined` for a workflow from nodes, not checked
 */
export async function resolveWithDiagnostics(
  repository: Repository,
  argument: string,
  options: { cwd: string },
): Promise<ResolvedWorkflow & { file?: LoadedWorkflowFile }> {
  await prepareHashing();
  const lookedAt: string[] = [];
  if (isNodeHash(argument)) {
    lookedAt.push('the nodes of this repository');
    const node = await repositoryNodes(repository).find(argument);
    if (node !== undefined) {
      return { definition: await loadWorkflow(repository, argument), hash: argument, origin: { kind: 'node' } };
    }
  }
  const root = workTreeAround(repository, options.cwd);
  const named = resolve(options.cwd, argument);
  const files = isPath(argument)
    ? [named, ...(hasExtension(argument) ? [] : filesAt(join(named, FOLDER_FILE)))]
    : foldersUp(options.cwd, root).flatMap((folder) => [
        ...filesAt(join(folder, argument)),
        ...filesAt(join(folder, argument, FOLDER_FILE)),
      ]);
  const file = firstFile(files);
  if (file !== undefined) return loadFile(repository, file);
  lookedAt.push(...files.map((each) => shorten(each, options.cwd)));
  if (!isPath(argument) && whyNoWorkflowName(argument) === undefined) {
    lookedAt.push(workflowRef(argument));
    const registered = await findWorkflow(repository, argument);
    if (registered !== undefined) {
      const { hash, ref } = registered;
      return { definition: await loadWorkflow(repository, hash), hash, origin: { kind: 'registry', ref } };
    }
  }
  const link = files.find((path) =>
    orElse(() => lstatSync(path).isSymbolicLink() && statsOf(path) === undefined, false),
  );
  if (link !== undefined) {
    throw new UwfError(`${shorten(link, options.cwd)} is a symbolic link that leads to no file`, {
      code: 'workflow-not-found',
      kind: 'usage',
      hint: 'put the file itself there, or correct the link',
    });
  }
  if (statsOf(named)?.isDirectory()) {
    const files = workflowsIn(named, options.cwd);
    const held = files.length === 0 ? 'no workflow file lies in it' : `in it lie ${listNames(files)}`;
    const hint = "name a file; 'uwf workflow list' lists the workflows that have names";
    const message = `'${argument}' is a folder without an index.yaml, and no workflow; ${held}`;
    throw new UwfError(message, { code: 'workflow-not-found', kind: 'usage', hint });
  }
  throw new WorkflowNotFound(argument, summarise(lookedAt), await knownNames(repository, argument, options.cwd));
}

/** The names that could have been meant: files beside the path, or the names in the folders and in the registry. */
async function knownNames(repository: Repository, argument: string, cwd: string): Promise<string[]> {
  if (isPath(argument)) {
    return workflowsIn(dirname(resolve(cwd, argument)), cwd);
  }
  const names = new Set<string>();
  for (const workflow of await listWorkflowFiles(repository, cwd)) names.add(workflow.name);
  for (const { name } of await repository.refs.list(WORKFLOWS_PREFIX)) names.add(name.slice(WORKFLOWS_PREFIX.length));
  return [...names];
}

/**
 * Lists the workflow files that names resolve to, from `cwd` upward; for equal names the nearest.
 *
 * The files are not read, so they may have mistakes.
 */
export async function listWorkflowFiles(
  repository: Repository,
  cwd: string,
): Promise<{ name: string; file: string }[]> {
  const found = new Map<string, string>();
  const top = workTreeAround(repository, cwd);
  for (const folder of foldersUp(cwd, top)) {
    if (top === undefined || !isFolderInside(top, folder)) continue;
    for (const file of workflowFiles(folder)) {
      const name = nameFromPath(file);
      // A symbolic link to a file outside of the work tree is left out, like such a folder.
      if (!found.has(name) && isFolderInside(top, dirname(file))) found.set(name, file);
    }
  }
  return [...found].map(([name, file]) => ({ name, file })).toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

async function loadFile(
  repository: Repository,
  file: string,
): Promise<ResolvedWorkflow & { file: LoadedWorkflowFile }> {
  const loaded = await loadWorkflowFile(file, rootOf(repository, file));
  const { definition, diagnostics, sources } = loaded;
  if (definition === undefined) throw new InvalidWorkflow(file, diagnostics, sources);
  return { definition, hash: encodeWorkflow(definition).hash, origin: { kind: 'file', file }, file: loaded };
}

/** The folder that includes of a workflow file must not leave: the work tree's top, if the file lies in the work tree. */
export function rootOf({ location }: Repository, file: string): { root?: string } {
  const top = location?.workTree;
  return top !== undefined && isWithin(file, top) ? { root: top } : {};
}

function workTreeAround(repository: Repository, cwd: string): string | undefined {
  const top = repository.location?.workTree;
  return top !== undefined && isWithin(cwd, top) ? top : undefined;
}

/** The workflow folders from `cwd` up to the work tree's top; outside a work tree there are none. */
function foldersUp(cwd: string, top: string | undefined): string[] {
  if (top === undefined) return [];
  const folders: string[] = [];
  for (let folder = cwd; ; folder = dirname(folder)) {
    folders.push(join(folder, WORKFLOW_FOLDER));
    if (relative(top, folder) === '' || dirname(folder) === folder) return folders;
  }
}

/** The paths of a workflow file without its extension, in the order in which they are tried. */
function filesAt(stem: string): string[] {
  return extensions.map((extension) => stem + extension);
}

/** The workflow files in a folder and in its subfolders; the first file of a name wins. */
function workflowFiles(folder: string): string[] {
  const entries = orElse(() => readdirSync(folder, { withFileTypes: true }), []);
  const names = entries.map(({ name }) => name).toSorted();
  const files = extensions.flatMap((extension) => names.filter((name) => name.endsWith(extension)));
  const folders = entries.filter((entry) => !entry.isFile()).map(({ name }) => name);
  const within = folders.toSorted().map((name) => firstFile(filesAt(join(folder, name, FOLDER_FILE))));
  return [...files.map((file) => join(folder, file)), ...within.filter((file) => file !== undefined)];
}

function workflowsIn(folder: string, cwd: string): string[] {
  return workflowFiles(folder).map((file) => shorten(file, cwd));
}

/** Tells whether a folder, with symbolic links followed, lies in the work tree and not in its git folder. */
function isFolderInside(top: string, folder: string): boolean {
  return succeeds(() => placeInside(top, folder));
}

function firstFile(paths: readonly string[]): string | undefined {
  return paths.find((path) => statsOf(path)?.isFile() === true);
}

function statsOf(path: string): Stats | undefined {
  return orElse(() => statSync(path), undefined);
}

function isPath(argument: string): boolean {
  return /^\.\.?$/.test(argument) || argument.includes('/') || argument.includes(sep) || hasExtension(argument);
}

function hasExtension(argument: string): boolean {
  return extensions.some((extension) => argument.endsWith(extension));
}

/** A path as one would type it in `cwd`. */
function shorten(file: string, cwd: string): string {
  return isWithin(file, cwd) ? relative(cwd, file) : file;
}

/** Writes `a.yaml`, `a.yml` and `a.json` as `a.{yaml,yml,json}`. */
function summarise(lookedAt: readonly string[]): string[] {
  const text = lookedAt.map((place) =>
    place.endsWith('.yaml') && lookedAt.includes(place.replace(/yaml$/, 'yml'))
      ? place.replace(/yaml$/, '{yaml,yml,json}')
      : place,
  );
  return text.filter((place) => !/\.(yml|json)$/.test(place) || !lookedAt.includes(place.replace(/\w+$/, 'yaml')));
}

type LoadFileOptions = {
  /** The folder that `!include` must not leave: the work tree's top. Default: the file's own folder. */
  root?: string;
  /** Reads files in place of the disk; `root` has no meaning then. */
  reader?: SourceReader;
};

/** The result of reading a workflow file: its definition if it has no errors, the diagnostics, and the files to show them. */
export type LoadedWorkflowFile = {
  /** `undefined` when a diagnostic is an error. */
  definition: WorkflowDefinition | undefined;
  diagnostics: Diagnostic[];
  /** By name as in the diagnostics; for `formatDiagnostic`. */
  sources: ReadonlyMap<string, SourceText>;
};

/**
 * Reads a workflow file in any notation and checks it.
 *
 * What is wrong with its content is a diagnostic, never an exception.
 * @param file a path to `.yaml`, `.yml` or `.json`; diagnostics name it as it is given
 * @throws {SourceUnreadable} if the file itself cannot be read
 */
export async function loadWorkflowFile(file: string, options: LoadFileOptions = {}): Promise<LoadedWorkflowFile> {
  const { value, map, sources, diagnostics } = await parse(file, options);
  if (value === undefined) return { definition: undefined, diagnostics, sources };
  return { ...(await validateWorkflow(value, { file, map, diagnostics })), sources };
}

/**
 * Reads a workflow file without the checks that it can run. A user who tries a change wants to see its consequences, such as
 * roles that are not reached any more, or a path that never ends.
 * @throws {SourceUnreadable} if the file cannot be read
 * @throws {InvalidWorkflow} if no roles and rules can be read from it
 */
export async function loadDraft(file: string, options: LoadFileOptions = {}): Promise<WorkflowDefinition> {
  const { value, map, sources, diagnostics } = await parse(file, options);
  if (value === undefined) throw new InvalidWorkflow(file, diagnostics, sources);
  const report = new Report(map);
  report.addAll(diagnostics);
  const { definition } = reduceWorkflow(report, value);
  if (report.hasErrors) throw new InvalidWorkflow(definition.name || file, report.diagnostics(), sources);
  return definition;
}

function parse(file: string, { reader, root }: LoadFileOptions): Promise<ParsedSource> {
  return parseSource(file, reader ?? diskReader(root ?? dirname(file)));
}
