import { describeBuiltIn } from '../describe-built-in.ts';
import type { JsonObject } from '../../json.ts';
import type { Agent, AgentReply, AgentRequest, PackageDescriptor } from '../contract.ts';
import { asValidated, NOT_EMPTY, objectSchema, recorded, recordSchema, textSchema } from '../../schema/typed-schema.ts';

const configSchema = objectSchema(
  { workflow: recorded(textSchema('the workflow that a child thread runs: a name, a file or a hash', NOT_EMPTY)) },
  {
    statuses: recorded(
      recordSchema(
        textSchema(undefined, NOT_EMPTY),
        "the $status to report, by return code or by outcome: 'completed', 'failed', 'cancelled'",
        { propertyNames: { pattern: '^(completed|failed|cancelled|0|[1-9][0-9]{0,2})$' } },
      ),
    ),
  },
);

const DEFAULT_STATUSES = { completed: 'done', failed: 'failed', cancelled: 'cancelled' };

/** `builtin:workflow`: a turn is a whole thread of another workflow. */
export const packageDescriptor: PackageDescriptor = describeBuiltIn('workflow', ['children'], configSchema);

/**
 * Makes an agent that gives its turn to a child thread.
 *
 * The child's prompt is what the rule told this role, or else the task itself. The reply's text is the child's summary,
 * its meta `{ $status }`: what `statuses` says of the child's return code or outcome, else `done`, `failed` or
 * `cancelled`. A child that suspends suspends this turn.
 */
export function createAgent(config: JsonObject): Agent {
  const { workflow, statuses } = asValidated(config, configSchema);
  const words: Readonly<Record<string, string>> = { ...DEFAULT_STATUSES, ...statuses };
  return {
    run: async (request: AgentRequest): Promise<AgentReply> => {
      request.signal.throwIfAborted();
      const prompt = request.edgePrompt ?? request.task;
      const child = await request.runChild({ workflow, prompt, signal: request.signal });
      // The thread that waits is found by its link to this one. A fork of this one has the reason, and not the child.
      if (child.kind === 'suspended') return { kind: 'suspend', cause: 'child', reason: child.reason };
      const $status = words[String(child.returnCode)] ?? words[child.outcome] ?? child.outcome;
      return { kind: 'reply', text: child.summary, meta: { $status }, childThreads: [child.endHash] };
    },
  };
}
