import type { EncodedNode } from '../../cas/node.ts';
import type { NodeFile } from '../../cas/node-tree.ts';
import type { JsonObject } from '../../json.ts';
import type { AgentRecord } from '../../schema/built-in/agent.ts';
import type { Redacted } from '../../schema/built-in/schema-parts.ts';
import type { Usage } from '../../schema/built-in/usage.ts';
import { agentNode, attemptFiles, contentNode, taken, type AttemptDraft } from './draft-commit.ts';
import { traceFiles, type TraceDraft } from './trace-files.ts';

/** The facts of a turn that steps and suspensions store. */
export type TurnFacts = {
  role: string;
  /** The whole prompt of the agent. */
  prompt: string;
  agent: AgentRecord;
  /** The rule that chose the role; null if a person forced it. */
  rule: number | null;
  usage: Usage | null;
  attempts: readonly AttemptDraft[];
  /** Absent if the agent reports no trace. */
  trace?: TraceDraft | undefined;
  /** What was redacted in its texts. */
  redacted?: Redacted | undefined;
};

/** Encodes a turn: fields of the node, files beside it, and the agent's node, which is a file of some commits only. */
export function encodeTurn(turn: TurnFacts): { fields: JsonObject; files: NodeFile[]; agent: EncodedNode } {
  const { role, rule, usage } = turn;
  const prompt = contentNode(turn.prompt);
  const agent = agentNode(turn.agent);
  const attempts = attemptFiles(turn.attempts);
  const trace = turn.trace && traceFiles(turn.trace, role, agent.hash);
  const hashes = { agent: agent.hash, prompt: prompt.hash, attempts: attempts.hashes, react: trace?.session ?? null };
  const files = [{ path: 'prompt.md', node: prompt }, ...attempts.files, ...(trace?.files ?? [])];
  return { fields: { role, rule, usage, ...hashes, ...taken(turn) }, files, agent };
}
