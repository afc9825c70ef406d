import { statSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import type { Agent, AgentCas, AgentRequest } from '../../agent/contract.ts';
import type { AgentBinding } from '../../agent/load/agent-binding.ts';
import { mapConfigTexts } from '../../agent/load/find-package.ts';
import { checkAgent, createConfiguredAgent, type KnownReports } from '../../agent/load/load-agent.ts';
import { type NodeHash, parseNodeHash } from '../../cas/hash.ts';
import { UwfError } from '../../errors.ts';
import { withoutPlaces } from '../../git/repository/git-directory.ts';
import { isMadeForThread, linkedWorkTrees } from '../../git/repository/work-trees.ts';
import { isWithin } from '../../git/system/files.ts';
import { packageRoot } from '../../git/system/process-identity.ts';
import { inPlaceOf, isOfClass, orElse } from '../../or-else.ts';
import type { AgentRecord } from '../../schema/built-in/workflow.ts';
import { CAS_KEY } from '../../schema/find-links.ts';
import { readSaid } from '../../thread/read-said.ts';
import { threadCas } from '../../thread/thread-cas.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { StartedThread } from '../../thread/thread-state.ts';
import { isIsolated, tasksOf, type WorkflowDefinition } from '../../workflow/definition.ts';
import { pinnedName } from '../../workflow/stored-blocks.ts';
import {
  DEFINITION_KEY,
  definitionOf,
  pinnedDefinition,
  pinnedSubWorkflow,
  subWorkflowOf,
} from '../children/sub-workflow.ts';
import { bindingFor, configRoot, getAgent, getBinding } from '../config/config.ts';
import type { AgentUse, Machine, Reading, Telling } from '../engine-context.ts';
import { isGiven, workingFolder, workTreesFolder } from '../isolation/work-place.ts';
import { formatRunTree, RUN_TREE, type RunTree } from '../limits/run-tree.ts';
import type { Redaction } from '../redact/redaction.ts';
import { isRecording, snapshotMode } from '../workspace/record-workspace.ts';

/** What the program that prepares new work trees is called where a person has to agree to its files. */
export const SETUP = 'isolation.setup';

/** Has all agents admitted that threads of a workflow can need, those of its sub-workflows among them. */
export async function admitWorkflow(engine: Machine, definition: WorkflowDefinition): Promise<void> {
  const gathering = new Gathering(engine);
  await gathering.add(definition);
  await engine.admit(gathering.uses());
}

/**
 * Has all agents admitted that threads can need when they run on.
 * @param wanted the name of one that takes the next turn whatever is configured
 */
export async function admitThreads(engine: Machine, states: readonly StartedThread[], wanted?: string): Promise<void> {
  const gathering = new Gathering(engine);
  for (const state of states) await gathering.add(await definitionOf(engine, state), state);
  await engine.admit(gathering.uses(wanted));
}

/** Has the agent of one turn or question admitted, and gives it as it is to run. */
async function admitAgent(
  engine: Machine,
  binding: AgentBinding,
  turn: { cwd: string; role: string; state: StartedThread; isRecorded: boolean; isFilled: boolean },
): Promise<AgentBinding> {
  const gathering = new Gathering(engine);
  const use = gathering.addUse(binding, turn.cwd, turn.isRecorded, turn.isFilled);
  await gathering.addChild(binding, turn.role, turn.state);
  await engine.admit(gathering.uses());
  return use.isLeft ? { ...binding, config: withFilesOf(use) } : binding;
}

/**
 * Has the program that prepares a new work tree admitted, and gives its command line as it is to run: files that the main work
 * tree has are taken from there, whatever the new one has under their names.
 */
export async function admitSetup(engine: Machine, cwd: string): Promise<[string, ...string[]] | undefined> {
  const use = setupIn(engine, cwd);
  if (use === undefined) return undefined;
  await engine.admit([use]);
  const [program = '', ...words] = (engine.config.isolation?.setup ?? []).map((text) => atRoot(use, text));
  return [program, ...words];
}

/** Agents of the configuration as they would run in a folder, whatever roles they do. */
export function usesIn(engine: Machine, bindings: readonly AgentBinding[], cwd: string): AgentUse[] {
  const gathering = new Gathering(engine);
  return bindings.map((binding) => gathering.addUse(binding, cwd));
}

/** The program that prepares new work trees, if one is configured. */
export function setupIn(engine: Machine, cwd: string): AgentUse | undefined {
  return new Gathering(engine).addSetup(cwd);
}

/** The configuration of an agent with the files of its command line that are in `root` named there. */
export function withFilesOf(use: AgentUse): AgentBinding['config'] {
  return mapConfigTexts(use.binding.config, (text, isProgramWord) => (isProgramWord ? atRoot(use, text) : text));
}

function atRoot({ root }: AgentUse, text: string): string {
  const path = resolve(root, text);
  return orElse(() => statSync(path).isFile(), false) ? path : text;
}

class Gathering {
  readonly #engine: Machine;
  readonly #uses = new Map<string, AgentUse>();
  readonly #seen = new Set<string>();
  readonly #root: string;
  readonly #left: readonly string[];
  #isMerging = false;

  constructor(engine: Machine) {
    const { location } = engine.repository;
    const { commonDir } = location ?? {};
    this.#engine = engine;
    this.#root = configRoot(engine.repository) ?? engine.cwd;
    this.#left =
      commonDir === undefined
        ? []
        : linkedWorkTrees({ commonDir })
            .filter(({ gitDir }) => isMadeForThread({ gitDir, commonDir }))
            .map(({ top }) => top)
            // The work tree of a first turn is not there yet.
            .concat(orElse(() => [workTreesFolder(engine)], [], isOfClass(UwfError)));
  }

  /** Roles without a configured agent are left out: their turns fail with the error. */
  async add(definition: WorkflowDefinition, state?: StartedThread): Promise<void> {
    const { config } = this.#engine;
    for (const [role, { cwd, snapshot, isolation }] of Object.entries(definition.roles)) {
      const binding = bindingFor(config, definition.name, role);
      if (binding === undefined) continue;
      const isIsolatedRole = isIsolated(isolation ?? definition.isolation) || state?.start.node.base !== undefined;
      if (isIsolatedRole || this.#engine.sharesTurns) this.addSetup(this.#root);
      this.addUse(
        binding,
        this.#folderOf(role, cwd),
        isIsolatedRole || isRecording(snapshotMode(this.#engine, snapshot)),
      );
      await this.addChild(binding, role, state);
    }
    for (const [name, block] of Object.entries(definition.blocks ?? {})) {
      this.#isMerging ||= block.merge !== undefined;
      for (const [key, { workflow }] of tasksOf(block)) {
        // A role of this workflow has been added already.
        if (workflow !== undefined) await this.#addWorkflow(workflow, pinnedName(name, key), state);
      }
    }
  }

  addUse(binding: AgentBinding, cwd: string, isRecorded = false, isFilled = false): AgentUse {
    const isLeft = this.#left.some((top) => isWithin(cwd, top));
    const key = `${binding.name}\0${cwd}`;
    // An agent may do several roles there. The files of one may be recorded.
    const isAlready = this.#uses.get(key)?.isRecorded === true;
    const use = { binding, cwd, root: this.#root, isLeft, isRecorded: isRecorded || isAlready, isFilled };
    this.#uses.set(key, use);
    return use;
  }

  /** Adds the program that prepares new work trees. Its words are a setting; only its files are asked for here. */
  addSetup(cwd: string): AgentUse | undefined {
    const argv = this.#engine.config.isolation?.setup;
    if (argv === undefined) return undefined;
    return this.addUse({ name: SETUP, package: 'builtin:command', config: { argv }, isUsersOwn: true }, cwd);
  }

  /** Adds the agents of the workflow that an agent runs, if it does. */
  async addChild(binding: AgentBinding, role: string, state: StartedThread | undefined): Promise<void> {
    const name = subWorkflowOf(binding);
    if (name !== undefined) await this.#addWorkflow(name, role, state);
  }

  /** @param pinnedAs under which name the start has the definition */
  async #addWorkflow(name: string, pinnedAs: string, state: StartedThread | undefined): Promise<void> {
    const engine = this.#engine;
    const pinned = state && (await pinnedSubWorkflow(engine, state, pinnedAs, name));
    const key = pinned ?? `workflow ${name}`;
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    const isPinned = state !== undefined && pinned !== undefined;
    const definition = isPinned ? pinnedDefinition(engine, state, pinned) : engine.resolveWorkflow(name);
    // An error is raised where the workflow runs. Its agents are admitted then.
    await definition.then((found) => this.add(found)).catch(inPlaceOf(UwfError, undefined));
  }

  uses(wanted?: string): AgentUse[] {
    const { config, cwd } = this.#engine;
    if (wanted !== undefined) this.addUse(getAgent(config, wanted), cwd);
    const { compactor, compactAtCharacters } = config.context ?? {};
    const isCompacting = compactor !== undefined && compactAtCharacters !== undefined && this.#uses.size > 0;
    if (isCompacting) this.addUse(getAgent(config, compactor), cwd);
    const uses = [...this.#uses.values()];
    return this.#isMerging ? uses.map((use) => ({ ...use, isMerged: true })) : uses;
  }

  #folderOf(role: string, cwd: string | undefined): string {
    const engine = this.#engine;
    const folderOfRole = (): string => workingFolder(engine, role, { cwd, location: undefined });
    return orElse(folderOfRole, engine.cwd, isOfClass(UwfError));
  }
}

type AgentWish = {
  /** The name of the workflow. */
  workflow: string;
  role: string;
  cwd: string;
  isRecorded?: boolean;
  /** Whether its own work tree has just been made or filled; see `AgentUse`. */
  isFilled?: boolean;
  /** The name of an agent, instead of the configured one. */
  wanted: string | undefined;
};

/** An agent, the record of it, and what is known of the usage that it reports; see `knownReports`. */
export type PreparedAgent = { agent: Agent; record: AgentRecord; reports: KnownReports | undefined };

/**
 * Makes the agent that does a role on this machine, once it was admitted, and the record of it that is stored with the step.
 * @throws {AgentMissing} if none is bound, or its package is not installed
 * @throws {UnknownAgent} if none is called as `wanted` says
 * @throws {AgentConfigInvalid} naming the key
 */
export async function prepareAgent(
  engine: Machine & Telling,
  state: StartedThread,
  wish: AgentWish,
): Promise<PreparedAgent> {
  const { role } = wish;
  const { binding, admitted } = await admitWish(engine, state, wish);
  const name = subWorkflowOf(binding);
  const pinned = name === undefined ? undefined : await pinnedSubWorkflow(engine, state, role, name);
  const { agent, record, reports } = await createConfiguredAgent(admitted, packageFolder(engine));
  return { agent, record: cleanRecord(engine, record, pinned), reports };
}

/** Has the agent of a turn admitted before a work tree is made for it. {@link prepareAgent} does so again there. */
export async function admitWish(
  engine: Machine,
  state: StartedThread,
  { workflow, role, cwd, isRecorded = false, isFilled = false, wanted }: AgentWish,
): Promise<{ binding: AgentBinding; admitted: AgentBinding }> {
  const { config } = engine;
  const binding = wanted === undefined ? getBinding(config, workflow, role) : getAgent(config, wanted);
  return { binding, admitted: await admitAgent(engine, binding, { role, cwd, state, isRecorded, isFilled }) };
}

/** The record alone, for the start of a thread: nothing is run, and what only the package itself could tell is left out. */
export async function prepareRecord(
  engine: Machine & Telling,
  binding: AgentBinding,
  pinned: NodeHash | undefined,
): Promise<AgentRecord> {
  const { record } = await checkAgent(binding, packageFolder(engine));
  return cleanRecord(engine, record, pinned);
}

/** A record without secrets, with a link to the definition of the sub-workflow that the agent runs. */
function cleanRecord(engine: Telling, record: AgentRecord, pinned: NodeHash | undefined): AgentRecord {
  const clean = engine.redaction().value(record);
  if (pinned === undefined) return clean;
  return { ...clean, config: { ...clean.config, [DEFINITION_KEY]: { [CAS_KEY]: pinned } } };
}

function packageFolder(engine: Machine): { resolveFrom: string } {
  return { resolveFrom: configRoot(engine.repository) ?? engine.cwd };
}

/** Where an agent works; `isOwn`: in the thread's own work tree, or in an empty folder. `tree` is what its thread belongs to. */
type AgentPlace = { cwd: string; isOwn?: boolean | undefined; tree: RunTree };

/** What turns and questions have in common: all that an agent needs to work on a thread. */
export function commonRequest(
  engine: Machine,
  thread: ThreadId,
  role: string,
  place: AgentPlace,
  redaction: Redaction,
): Pick<AgentRequest, 'threadId' | 'role' | 'cwd' | 'env' | 'cas' | 'readThread' | 'askPerson'> {
  return {
    threadId: thread,
    role,
    cwd: place.cwd,
    env: agentEnvironment(engine, thread, role, place),
    cas: agentCas(engine, thread, redaction),
    readThread: (options) => readSaid(engine.repository, thread, options),
    askPerson: engine.askPerson,
  };
}

/** The thread's store in the form that agents are handed. Secrets are taken out of what they put. */
function agentCas({ repository }: Reading, thread: ThreadId, redaction: Redaction): AgentCas {
  const cas = threadCas(repository, thread);
  return {
    put: (text) => cas.put(redaction.text(text)),
    get: async (hash) => (await cas.find(parseNodeHash(hash)))?.payload,
    list: async () => (await cas.list()).map(({ hash }) => hash),
  };
}

/**
 * The environment of an agent's processes: uwf's own, with the thread, the role and a folder named in it, and uwf's
 * bin folder first on the PATH, so that an agent can shell out to `uwf cas get <hash>`.
 *
 * In another work tree than the one that the command was given in, variables of git that name that one would lead the agent
 * there: a hook has them.
 */
function agentEnvironment(
  engine: Machine,
  thread: ThreadId,
  role: string,
  { cwd, isOwn = false, tree }: AgentPlace,
): Record<string, string> {
  const { repository } = engine;
  const env = !isOwn && isGiven(engine, cwd) ? engine.env : withoutPlaces(engine.env);
  const path = [join(packageRoot(), 'bin'), env['PATH'], dirname(process.execPath)];
  return {
    ...env,
    PATH: path.filter(Boolean).join(delimiter),
    UWF_THREAD: thread,
    UWF_ROLE: role,
    [RUN_TREE]: formatRunTree(tree),
    ...(repository.location && { UWF_REPOSITORY: repository.location.commonDir }),
  };
}
