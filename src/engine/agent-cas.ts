import type { AgentCas } from '../agent/contract.ts';
import { parseNodeHash } from '../cas/hash.ts';
import type { Repository } from '../git/repository.ts';
import { threadCas } from '../thread/thread-cas.ts';
import type { ThreadId } from '../thread/thread-id.ts';

/** The thread's store in the form that agents are handed. */
export function agentCas(repository: Repository, thread: ThreadId): AgentCas {
  const cas = threadCas(repository, thread);
  return {
    put: (text) => cas.put(text),
    get: async (hash) => (await cas.find(parseNodeHash(hash)))?.payload,
    list: async () => (await cas.list()).map(({ hash }) => hash),
  };
}
