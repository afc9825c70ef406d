import type { AgentBinding } from '../agent/agent-binding.ts';
import { parseNodeHash, type NodeHash } from '../cas/hash.ts';
import { pathName } from '../cas/path-name.ts';
import { isJsonObject } from '../json.ts';
import { CAS_KEY } from '../schema/links.ts';
import { findNodeAt } from '../thread/thread-commit.ts';
import type { ThreadState } from '../thread/thread-state.ts';
import type { EngineContext } from './context.ts';

/** The key under which the record of a role that runs a sub-workflow links to the definition pinned for it. */
export const DEFINITION_KEY = 'definition';

/** The workflow that a binding runs as a child thread; `undefined` for every other agent. */
export function subWorkflowOf(binding: AgentBinding): string | undefined {
  const name = binding.package === 'builtin:workflow' ? binding.config['workflow'] : undefined;
  return typeof name === 'string' ? name : undefined;
}

/**
 * The definition of a sub-workflow that was pinned when the thread started, provided that the role still calls the
 * workflow of that name.
 */
export async function pinnedSubWorkflow(
  context: EngineContext,
  state: ThreadState,
  role: string,
  name: string,
): Promise<NodeHash | undefined> {
  const stored = await findNodeAt(context.repository, state.start, `agents/${pathName(role)}.json`);
  if (!isJsonObject(stored?.payload) || !isJsonObject(stored.payload['config'])) return undefined;
  const { workflow, [DEFINITION_KEY]: link } = stored.payload['config'];
  const hash = isJsonObject(link) ? link[CAS_KEY] : undefined;
  return workflow === name && typeof hash === 'string' ? parseNodeHash(hash) : undefined;
}
