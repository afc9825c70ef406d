import { delimiter, dirname, join } from 'node:path';
import type { AgentCas, AgentRequest } from '../../agent/contract.ts';
import { parseNodeHash } from '../../cas/hash.ts';
import { packageRoot } from '../../package-root.ts';
import { threadCas } from '../../thread/thread-cas.ts';
import { readSaid } from '../../thread/read-said.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { withoutPlaces } from '../../git/repository/git-directory.ts';
import type { EngineContext } from '../engine-context.ts';
import { formatRunTree, RUN_TREE, type RunTree } from '../limits/run-tree.ts';
import type { Redaction } from '../redact/redaction.ts';
import { isGiven } from '../workspace/working-folder.ts';

/** Where an agent works; `isOwn`: in the thread's own work tree, or in an empty folder. `tree` is what its thread belongs to. */
type AgentPlace = { cwd: string; isOwn?: boolean | undefined; tree: RunTree };

/** What turns and questions have in common: all that an agent needs to work on a thread. */
export function commonRequest(
  engine: EngineContext,
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
function agentCas({ repository }: EngineContext, thread: ThreadId, redaction: Redaction): AgentCas {
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
  engine: EngineContext,
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
