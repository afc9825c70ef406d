import type { AgentCas } from '../agent/contract.ts';
import { parseNodeHash } from '../cas/hash.ts';
import { threadCas } from '../thread/thread-cas.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import type { EngineContext } from './context.ts';
import type { Redaction } from './redaction.ts';

/** The thread's store in the form that agents are handed. What they put is stored without secrets. */
export function agentCas({ repository }: EngineContext, thread: ThreadId, redaction: Redaction): AgentCas {
  const cas = threadCas(repository, thread);
  return {
    put: (text) => cas.put(redaction.text(text)),
    get: async (hash) => (await cas.find(parseNodeHash(hash)))?.payload,
    list: async () => (await cas.list()).map(({ hash }) => hash),
  };
}
