import { readNodeAt } from '../../cas/commit-nodes.ts';
import type { NodeHash } from '../../cas/hash.ts';
import { pathName } from '../../cas/path-name.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { readAnyTree } from '../../git/stores/read.ts';
import type { AgentRecord } from '../../schema/built-in/agent.ts';
import { payloadOf } from '../../schema/payload-of.ts';
import { CorruptThread } from '../thread-errors.ts';
import { fileOf, readLightCommit, type LightStart, type LightStep } from './light-chain.ts';
import type { CommitOf } from './thread-state.ts';

type Start = LightStart | CommitOf<'start'>;
type Turn = LightStep | CommitOf<'step' | 'suspend'>;

/** Names by the start, or by its tree of agents, which most threads share, with the hash that the start has of the agent. */
const known = new WeakMap<Repository, Map<string, Promise<string | undefined>>>();
const MAX_KNOWN = 10_000;

/** The name in the configuration of the agent that took a turn; '' if it is not recorded. */
export async function agentName(repository: Repository, start: Start, turn: Turn): Promise<string> {
  return (await ownAgent(repository, turn))?.name ?? (await agentAtStart(repository, start, turn.node.role)) ?? '';
}

/** The agent that took a turn; `undefined` if it is not recorded. */
export async function readAgent(repository: Repository, start: Start, turn: Turn): Promise<AgentRecord | undefined> {
  return (await ownAgent(repository, turn)) ?? (await startAgent(repository, start, turn.node.role));
}

/** The agent of a turn by the turn's own commit, which has it where it differs from the start's. */
async function ownAgent(repository: Repository, turn: Turn): Promise<AgentRecord | undefined> {
  const oid = fileOf(turn, 'agent.json');
  return oid && payloadOf(await readNodeAt(repository, { hash: turn.node.agent, oid }), 'agent');
}

/**
 * The name of the agent that a role had when its thread began; `undefined` if it had none.
 * @param start the start, or the id of its commit
 */
export function agentAtStart(
  repository: Repository,
  start: Start | ObjectId,
  role: string,
): Promise<string | undefined> {
  const names = known.get(repository) ?? new Map<string, Promise<string | undefined>>();
  known.set(repository, names);
  const place = typeof start === 'string' ? start : `${agentsOf(start) ?? start.id} ${hashAt(start, role) ?? ''}`;
  const key = `${place} ${role}`;
  const found = names.get(key);
  if (found !== undefined) return found;
  if (names.size >= MAX_KNOWN) names.clear();
  const name = readName(repository, start, role);
  names.set(key, name);
  // It may be readable later: a fetch can bring what is missing.
  name.catch(() => names.delete(key));
  return name;
}

async function readName(repository: Repository, start: Start | ObjectId, role: string): Promise<string | undefined> {
  if (typeof start === 'string') {
    const commit = await readLightCommit(repository, start);
    if (commit.kind !== 'start') throw new CorruptThread(start, 'it is no start');
    return agentAtStart(repository, commit, role);
  }
  return (await startAgent(repository, start, role))?.name;
}

async function startAgent(repository: Repository, start: Start, role: string): Promise<AgentRecord | undefined> {
  const hash = hashAt(start, role);
  if (hash === undefined) return undefined;
  const file = `${pathName(role)}.json`;
  const folder = agentsOf(start);
  const oid =
    folder === undefined
      ? fileOf(start, `agents/${file}`)
      : (await readAnyTree(repository.objects, folder)).find(({ name }) => name === file)?.id;
  return oid && payloadOf(await readNodeAt(repository, { hash, oid }), 'agent');
}

function hashAt({ node }: Start, role: string): NodeHash | undefined {
  return Object.hasOwn(node.agents, role) ? node.agents[role] : undefined;
}

/** The tree of the agents of a start; `undefined` for one that has its index instead. */
function agentsOf(start: Start): ObjectId | undefined {
  return 'files' in start ? fileOf(start, 'agents') : undefined;
}
