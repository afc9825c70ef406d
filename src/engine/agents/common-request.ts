import { delimiter, dirname, join } from 'node:path';
import type { AgentCas, AgentRequest } from '../../agent/contract.ts';
import { parseNodeHash } from '../../cas/hash.ts';
import { packageRoot } from '../../package-root.ts';
import { threadCas } from '../../thread/cas/thread-cas.ts';
import { readSaid } from '../../thread/read/read-said.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { EngineContext } from '../engine-context.ts';
import { formatRunTree, RUN_TREE, type RunTree } from '../limits/run-tree.ts';
import type { Redaction } from '../redact/redaction.ts';

/** What turns and questions have in common: all that an agent needs to work on a thread. */
export function commonRequest(
  engine: EngineContext,
  thread: ThreadId,
  role: string,
  redaction: Redaction,
  place: RunTree,
): Pick<AgentRequest, 'threadId' | 'role' | 'env' | 'cas' | 'readThread' | 'askPerson'> {
  return {
    threadId: thread,
    role,
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
 */
function agentEnvironment(
  { env, repository }: EngineContext,
  thread: ThreadId,
  role: string,
  place: RunTree,
): Record<string, string> {
  const path = [join(packageRoot(), 'bin'), env['PATH'], dirname(process.execPath)];
  return {
    ...env,
    PATH: path.filter(Boolean).join(delimiter),
    UWF_THREAD: thread,
    UWF_ROLE: role,
    [RUN_TREE]: formatRunTree(place),
    ...(repository.location && { UWF_REPOSITORY: repository.location.commonDir }),
  };
}
