import { getNode, type NodeSource } from '../../cas/node-source.ts';
import { payloadOf } from '../../schema/payload-of.ts';
import type { ThreadCommit } from '../thread-commit.ts';
import { attempt, type Report } from './finding.ts';

/** Checks that the trace of a turn is that of its role and agent, and that its tokens are those of its turns. */
export async function checkTrace(commit: ThreadCommit, known: NodeSource, report: Report): Promise<void> {
  if (commit.kind !== 'step' && commit.kind !== 'suspend') return;
  const { react, role, agent } = commit.node;
  if (react === null) return;
  await attempt(report, 'trace/session.json', async () => {
    const session = payloadOf(await getNode(known, react), 'react-session');
    if (session.role !== role || session.agent !== agent) {
      report('trace/session.json', 'it is the trace of another role or agent');
    }
    let tokens = 0;
    for (const hash of session.turns) {
      const turn = payloadOf(await getNode(known, hash), 'react-turn');
      tokens += turn.tokens.input + turn.tokens.output;
    }
    if (session.totalTokens !== tokens) report('trace/session.json', `its turns took ${tokens} tokens in all`);
  });
}
