import { readNodeAt } from '../../cas/commit-nodes.ts';
import { pathName } from '../../cas/path-name.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { payloadOf } from '../../schema/payload-of.ts';
import { readThreadCommit } from '../../thread/thread-commit.ts';

/** Which agent each role had, by the file of the role in a start. */
type AgentNames = ReadonlyMap<string, string>;

/** By the commit of the start, which never changes. */
const known = new WeakMap<Repository, Map<ObjectId, AgentNames>>();
const MAX_KNOWN = 10_000;

/** Finds the agent that a role had when its thread began; `undefined` if it had none yet, or the start cannot be read. */
export async function findAgentAtStart(
  repository: Repository,
  start: ObjectId,
  role: string,
): Promise<string | undefined> {
  const starts = known.get(repository) ?? new Map<ObjectId, AgentNames>();
  known.set(repository, starts);
  const names = starts.get(start) ?? (await readNames(repository, start).catch(() => new Map<string, string>()));
  if (starts.size >= MAX_KNOWN) starts.clear();
  starts.set(start, names);
  return names.get(`agents/${pathName(role)}.json`);
}

async function readNames(repository: Repository, start: ObjectId): Promise<AgentNames> {
  const names = new Map<string, string>();
  for (const entry of (await readThreadCommit(repository, start)).index) {
    if (!entry.path.startsWith('agents/')) continue;
    names.set(entry.path, payloadOf(await readNodeAt(repository, entry), 'agent').name);
  }
  return names;
}
