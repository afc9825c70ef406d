import { firstLine, lineOfOutput } from '../../thread/commit-message.ts';
import type { ThreadPointer } from '../../thread/thread-id.ts';
import { readLightCommit, readReply, startOf } from '../../thread/thread-chain.ts';
import { stepsUpTo } from '../../thread/thread-state.ts';
import { statusOfHead } from '../../thread/thread-status.ts';
import { findNextRole, workflowNameOf } from './gather-facts.ts';
import type { Reading } from '../engine-context.ts';
import type { ListedFacts } from './facts.ts';

/**
 * Reads what a list says of a thread: its head, its start, and of the steps between them what its rules look at. Damage between the
 * start and the head shows only in what is read.
 */
export async function readListed(engine: Reading, { id, head: from }: ThreadPointer): Promise<ListedFacts> {
  const { repository } = engine;
  const head = await readLightCommit(repository, from);
  const start = await startOf(repository, head);
  const prompt = await readReply(repository, start);
  const said = head.kind === 'end' ? await readReply(repository, head) : null;
  const facts = {
    status: statusOfHead(head),
    workflow: await workflowNameOf(repository, start),
    prompt: firstLine(prompt),
    startedAtMs: start.node.startedAtMs,
    endedAtMs: head.kind === 'end' ? head.node.completedAtMs : null,
    steps: stepsUpTo(head),
    reason: head.kind === 'suspend' ? head.node.reason : said,
    summary: said === null ? null : lineOfOutput(head, said),
    cause: head.kind === 'suspend' ? head.node.cause : null,
  };
  if (head.kind === 'suspend') return { ...facts, nextRole: head.node.role };
  return { ...facts, nextRole: await findNextRole(engine, { id, head }) };
}
