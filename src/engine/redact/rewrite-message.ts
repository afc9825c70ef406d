import { getNode } from '../../cas/node-source.ts';
import { nodesBehind } from '../../cas/history-nodes.ts';
import type { NodeHash } from '../../cas/hash.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import type { Redactor } from '../../redaction/redactor.ts';
import type { AgentRecord } from '../../schema/built-in/agent.ts';
import { payloadOf } from '../../schema/payload-of.ts';
import type { Beside } from '../../thread/append/commit-message.ts';
import type { ThreadEvent } from '../../thread/thread-commit.ts';
import { Redaction } from './redaction.ts';

/**
 * Reads what the message of a commit tells of other commits' nodes, as these are when they are written anew.
 * @param event the node of the commit as it was
 */
export async function besideOfRewritten(
  repository: Repository,
  redactor: Redactor,
  id: ObjectId,
  { kind, node }: ThreadEvent,
): Promise<Pick<Beside, 'agent' | 'last'>> {
  const behind = nodesBehind(repository, [id]);
  const redaction = new Redaction(redactor);
  const agentOf = async (hash: NodeHash): Promise<AgentRecord> =>
    redaction.value(payloadOf(await getNode(behind, hash), 'agent'));
  if (kind === 'step' || kind === 'suspend') return { agent: await agentOf(node.agent) };
  if (kind !== 'end' || node.lastStep === null) return {};
  const { content, agent, meta } = payloadOf(await getNode(behind, node.lastStep), 'thread-step');
  const [reply, summary] = [await getNode(behind, content), await getNode(behind, node.summary)];
  if (payloadOf(reply, 'content').text !== payloadOf(summary, 'content').text) return {};
  return { last: { agent: await agentOf(agent), meta: redaction.value(meta) } };
}
