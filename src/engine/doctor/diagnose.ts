import { accessSync, constants, lstatSync } from 'node:fs';
import { join } from 'node:path';
import { warnOfMode } from '../../agent/acp/known-agents.ts';
import type { AgentBinding } from '../../agent/load/agent-binding.ts';
import { checkAgent } from '../../agent/load/load-agent.ts';
import { findProgram } from '../../agent/processes/start-program.ts';
import { messageOf, UwfError } from '../../errors.ts';
import { errnoOf } from '../../git/format/errors.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import {
  type Examination,
  examineRepository,
  findLocks,
  type FoundLock,
  MAX_GATHERED,
} from '../../git/maintenance/repack.ts';
import { isOlderGit } from '../../git/process/run-git.ts';
import type { GitEnvironment, Repository, RepositoryLocation } from '../../git/repository.ts';
import { placeInside } from '../../git/repository/git-directory.ts';
import { KEEP_MS } from '../../git/stores/disk/pack-writer.ts';
import { readCommit } from '../../git/stores/read.ts';
import { orElse } from '../../or-else.ts';
import { isRedactable, MIN_KNOWN } from '../../redaction/known-values.ts';
import { listPointers } from '../../thread/find-thread.ts';
import { type ThreadPointer, threadTimeMs } from '../../thread/thread-id.ts';
import { findVerdict, listCorrupt } from '../../verify/remembered-verdicts.ts';
import { listDamage } from '../../verify/verify-threads.ts';
import { type Config, configRoot, loadConfig } from '../config/config.ts';
import { LeaseDamaged } from '../engine-errors.ts';
import { findAbandoned, findLeaseRecord, listLeases } from '../leases/find-lease.ts';
import { describeInterruption, findInterruption, hintAtInterruption } from '../recovery/turn-log.ts';
import type { KnownSecret } from '../redact/known-secrets.ts';
import { diagnoseBindings, diagnoseLimits, diagnoseVariables, type KnownWorkflows } from './diagnose-bindings.ts';
import { diagnoseWorkTrees } from '../isolation/work-trees.ts';
import { assertFinding, type Diagnosis, problem, throwShortage, warning } from './diagnosis.ts';

/** The first git with everything that uwf asks of it: `merge-tree --write-tree` of 2.38. */
const OLDEST_GIT = [2, 38] as const;
/** Clocks of machines that ask for the time differ by less. */
const CLOCK_SLACK_MS = 5 * 60_000;
const LONG_UNPUSHED_MS = 14 * 86_400_000;

type DiagnoseOptions = { userFolder?: string; cwd?: string; workTrees?: string };

/**
 * Says what about this repository or machine will hurt, problems first. Changes nothing and starts no agent.
 * @param env what git and agents would inherit
 * @param from.userFolder the folder of the user's own configuration
 * @param from.cwd the folder from which workflows are found; default: the work tree's top
 * @param from.workTrees the folder for the work trees of threads
 */
export async function diagnose(
  repository: Repository,
  env: GitEnvironment,
  from: DiagnoseOptions = {},
): Promise<Diagnosis[]> {
  const { location } = repository;
  const found: Diagnosis[] = [];
  if (location !== undefined) {
    const examination = await examineRepository({ location, env });
    found.push(
      ...ofGit(examination),
      ...ofAccess(location, repository.stateDir),
      ...diagnoseLocks(location),
      ...(await ofRefs(repository)),
      ...(await ofThreads(repository, examination)),
    );
  }
  found.push(...ofConfigFiles(repository), ...(await ofAgents(repository, env, from)));
  return found.toSorted((a, b) => (a.level === b.level ? 0 : a.level === 'problem' ? -1 : 1));
}

function ofGit({ gitVersion, isShallow, packs, config }: Examination): Diagnosis[] {
  const found: Diagnosis[] = [];
  if (gitVersion === undefined) {
    const hint = 'install git: files of steps, pushing and cleaning up need it';
    found.push(problem('git-missing', "there is no program 'git' on the PATH", hint));
  } else {
    const hint = `install git ${OLDEST_GIT.join('.')} or newer`;
    if (isOlderGit(gitVersion, OLDEST_GIT))
      found.push(problem('git-too-old', `git is ${gitVersion}, too old to fold packs`, hint));
  }
  if (isShallow) {
    const message = 'this is a shallow clone: threads that were pushed from it may be incomplete';
    found.push(warning('shallow-clone', message, "run 'git fetch --unshallow'"));
  }
  if (config.get('gc.auto') === '0' || config.get('maintenance.auto') === 'false') {
    const hint = "run 'uwf gc' and 'git gc' now and then, or 'git config --unset gc.auto'";
    found.push(warning('gc-disabled', 'git is told not to collect garbage by itself', hint));
  }
  if (/^(now|\d+\.seconds?\.ago)$/.test(config.get('gc.pruneexpire') ?? '')) {
    const message = 'git is told to prune objects at once, also those that are being written';
    const hint = "run 'git config --unset gc.pruneExpire': two weeks are git's default";
    found.push(problem('prunes-at-once', message, hint));
  }
  if (packs > MAX_GATHERED) {
    found.push(warning('many-packs', `there are ${packs} packs, which makes every look-up slower`, "run 'uwf gc'"));
  }
  return found;
}

/** Folders of the repository that this process may not write to. */
function ofAccess({ commonDir }: RepositoryLocation, stateDir: string | undefined): Diagnosis[] {
  const below = ['', 'objects', 'objects/pack', 'refs', 'refs/threads', 'refs/history'].map((name) =>
    join(commonDir, name),
  );
  for (const folder of [...below, ...(stateDir === undefined ? [] : [stateDir])]) {
    try {
      accessSync(folder, constants.W_OK);
    } catch (error) {
      const code = errnoOf(error);
      // Folders that are not there are made where they are needed.
      if (code === 'ENOENT') continue;
      const message = `the repository cannot be written: ${folder} (${code})`;
      const hint =
        'see whose it is, its permissions, and whether its file system is writable; threads can only be read here';
      return [problem('not-writable', message, hint)];
    }
  }
  return [];
}

/** Refs that git calls broken, and threads whose heads are not there. */
async function ofRefs(repository: Repository): Promise<Diagnosis[]> {
  const damages = await listDamage(repository);
  const found = damages.map(({ code, message, hint = '' }) => problem(code, message, hint));
  const corrupt = listCorrupt(repository);
  for (const { id, ref, head } of await readablePointers(repository)) {
    // Heads alone are read: other commands have found what lies deeper.
    const fault = (await findFault(repository, head)) ?? findVerdict(repository, { id, head }, corrupt);
    if (fault === undefined) continue;
    const message = `${ref} is broken: ${fault}`;
    const hint = `fetch it again from another clone, or look with 'git fsck --lost-found' for what is left of thread ${id}`;
    found.push(problem('broken-ref', message, hint));
  }
  return found;
}

async function findFault({ objects }: Repository, head: ObjectId): Promise<string | undefined> {
  if (!(await objects.has(head))) return `its commit ${head} is not in the repository`;
  try {
    await readCommit(objects, head);
    return undefined;
  } catch (error) {
    assertFinding(error);
    return error.message;
  }
}

/** Runs whose processes ended before they did. */
function ofInterruptions(repository: Repository, pointers: readonly ThreadPointer[]): Diagnosis[] {
  const active = new Set(pointers.filter(({ isHistory }) => !isHistory).map(({ id }) => id));
  return findAbandoned(repository)
    .filter((thread) => active.has(thread))
    .flatMap((thread): Diagnosis[] => {
      const interruption = findInterruption(repository, thread);
      if (interruption === null) return [];
      const diagnose = interruption.processes.length > 0 ? problem : warning;
      const message = `thread ${thread} was interrupted: ${describeInterruption(interruption)}`;
      return [diagnose('interrupted', message, hintAtInterruption(thread, interruption))];
    });
}

/** The leases that do not tell whether a process works on their thread. */
function ofDamagedLeases(repository: Repository): Diagnosis[] {
  return listLeases(repository).flatMap((thread) => {
    try {
      findLeaseRecord(repository, thread);
      return [];
    } catch (error) {
      if (!(error instanceof LeaseDamaged)) throw error;
      return [ofError(error, error.code)];
    }
  });
}

/** Lists threads. Damaged refs, which {@link ofRefs} names, are left out. */
function readablePointers(repository: Repository): Promise<ThreadPointer[]> {
  return listPointers(repository, { active: true, history: true }, { damaged: () => undefined });
}

async function ofThreads(repository: Repository, { config }: Examination): Promise<Diagnosis[]> {
  const pointers = await readablePointers(repository);
  const found = [...ofDamagedLeases(repository), ...ofInterruptions(repository, pointers)];
  const newest = pointers.at(-1);
  const now = repository.now();
  if (newest && threadTimeMs(newest.id) > now + CLOCK_SLACK_MS) {
    const [theirs, ours] = [threadTimeMs(newest.id), now].map((ms) => new Date(ms).toISOString());
    const message = `thread ${newest.id} was started ${theirs}, and the clock here says ${ours}`;
    const hint = 'set the clock of this machine, or of the one that started the thread: ids and lists go by it';
    found.push(problem('clock-off', message, hint));
  }
  const hasRemote = [...config.keys()].some((name) => /^remote\..+\.url$/.test(name));
  if (!hasRemote) return found;
  const fetched = await fetchedThreads(repository);
  const alone = pointers.filter(({ id }) => threadTimeMs(id) < now - LONG_UNPUSHED_MS && !fetched.has(id));
  if (alone.length > 0) {
    const message = `${alone.length} threads of more than two weeks ago are, as far as is known, in this clone only`;
    found.push(warning('not-pushed', message, `run 'git push <remote> "refs/threads/*" "refs/history/*"'`));
  }
  return found;
}

/** The threads that a remote had at the last fetch. */
async function fetchedThreads({ refs }: Repository): Promise<Set<string>> {
  const tracked = await refs.list('refs/uwf/remotes/', { damaged: () => undefined });
  return new Set(tracked.map(({ name }) => name.split('/').at(-1) ?? ''));
}

/** Finds configuration files that every user can write to: a configuration says what is executed. */
function ofConfigFiles(repository: Repository): Diagnosis[] {
  const { stateDir } = repository;
  const root = configRoot(repository);
  const files = [
    // A link is followed. If it leads out of the work tree, loading the configuration reports it.
    ...(root === undefined ? [] : orElse(() => [placeInside(root, join(root, '.uwf/config.yaml'))], [])),
    ...(stateDir === undefined ? [] : [join(stateDir, 'config.yaml')]),
  ];
  return files.flatMap((file): Diagnosis[] => {
    const stat = lstatSync(file, { throwIfNoEntry: false });
    if (stat?.isFile() !== true || (stat.mode & 0o002) === 0) return [];
    const message = `everybody on this machine can write to ${file}, and so decide what is executed here`;
    return [problem('dubious-ownership', message, `run 'chmod o-w ${file}'`)];
  });
}

async function ofAgents(repository: Repository, env: GitEnvironment, from: DiagnoseOptions): Promise<Diagnosis[]> {
  let config: Config;
  try {
    config = await loadConfig(repository, from);
  } catch (error) {
    return [ofError(error, 'config-broken')];
  }
  const resolveFrom = configRoot(repository) ?? repository.location?.gitDir ?? '/';
  const { workTrees } = from;
  const workflows: KnownWorkflows = new Map();
  const found = [
    ...(workTrees === undefined
      ? []
      : await diagnoseWorkTrees({ repository, config, env, workTrees }, await fetchedThreads(repository))),
    ...diagnoseVariables(config, env),
    ...(await diagnoseBindings(repository, config, from.cwd ?? resolveFrom, workflows)),
  ];
  for (const agent of Object.values(config.agents)) {
    const ungoverned = warnOfMode(agent);
    if (ungoverned) found.push(warning('agent-without-mode', ungoverned.message, ungoverned.hint));
    try {
      const { config: checked, reports } = await checkAgent(agent, { resolveFrom });
      if (reports !== undefined) found.push(...diagnoseLimits(config, agent, reports, workflows));
      const program = programOf({ ...agent, config: checked });
      if (program === undefined || findProgram(program, resolveFrom, env['PATH'] ?? '') !== undefined) continue;
      const message = `agent '${agent.name}' starts '${program}', and there is no such program here`;
      found.push(problem('agent-not-found', message, 'install it, or put it on the PATH'));
    } catch (error) {
      found.push(ofError(error, 'agent-broken'));
    }
  }
  return found;
}

/** What an agent starts, for those whose configuration says it. */
function programOf({ config }: AgentBinding): string | undefined {
  const words = config['argv'] ?? config['command'];
  const program = Array.isArray(words) ? words[0] : undefined;
  return typeof program === 'string' ? program : undefined;
}

function ofError(error: unknown, code: string): Diagnosis {
  throwShortage(error);
  const hint = error instanceof UwfError ? error.hint : undefined;
  return problem(code, messageOf(error), hint ?? "run 'uwf agent show <name>' to see more");
}

/** Names the locks on refs and the keeps of packs whose process is not at work on this machine. */
function diagnoseLocks(location: RepositoryLocation): Diagnosis[] {
  return findLocks(location).flatMap((found) => (found.holder?.isAlive === true ? [] : [ofLock(found)]));
}

function ofLock({ path, kind, holder, ageMs }: FoundLock): Diagnosis {
  const age = `${Math.max(0, Math.round(ageMs / 1000))} s ago`;
  const hint = 'if no git is at work in this repository, remove it; uwf never does';
  if (kind === 'lock') return problem('locked', `${path} keeps a ref from being changed; git made it ${age}`, hint);
  const what = `${path} keeps a pack from being folded`;
  if (holder === undefined) return warning('pack-kept', `${what}; it is git's, made ${age}`, hint);
  const { owner, isAlive } = holder;
  const leftMs = isAlive === false ? 0 : KEEP_MS - ageMs;
  const when = leftMs > 0 ? `in ${Math.ceil(leftMs / 1000)} s, unless its process works` : 'now';
  const fate = isAlive === false ? 'has ended' : 'cannot be seen from here';
  const message = `${what}; process ${owner.pid} of uwf on ${owner.host}, which ${fate}, made it ${age}`;
  return warning('pack-kept', message, `'uwf gc' removes it ${when}`);
}

/** Below this a value is a switch or a number of a port, and no secret. */
const MIN_SECRET = 5;

/** Names what is secret and too short to be taken out of what agents say. */
export function diagnoseSecrets(secrets: readonly KnownSecret[]): Diagnosis[] {
  const short = secrets.filter(
    ({ value }) =>
      value.length >= MIN_SECRET && value.length < MIN_KNOWN && !isRedactable(value) && !/^false$/iu.test(value),
  );
  if (short.length === 0) return [];
  const names = [...new Set(short.map(({ name }) => name))].join(', ');
  const message = `too short to be taken out of what agents say, for it would be found by chance: ${names}`;
  const hint = `give it ${MIN_KNOWN} characters or more, or keep it out of the environment of uwf`;
  return [warning('secret-too-short', message, hint)];
}
