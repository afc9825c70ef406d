import { describeBuiltIn } from '../describe-built-in.ts';
import type { JsonObject } from '../../json.ts';
import type { Agent, PackageDescriptor } from '../contract.ts';
import { asValidated } from '../../schema/typed-schema.ts';
import { acpConfigSchema } from './acp-config.ts';
import { AcpSession } from './acp-session.ts';

/** `builtin:acp`: any agent that speaks the Agent Client Protocol. */
export const packageDescriptor: PackageDescriptor = describeBuiltIn(
  'acp',
  ['sessions', 'streaming', 'tools', 'permissions'],
  acpConfigSchema,
);

/**
 * Makes an agent that drives a coding agent over the Agent Client Protocol.
 *
 * The coding agent runs in a process group of its own from the first try of a turn until `close`, so that a correction
 * goes into the conversation it is about. An aborted turn leaves no process.
 * @param config has been checked against `packageDescriptor.configSchema`
 * @see https://agentclientprotocol.com
 */
export function createAgent(config: JsonObject): Agent {
  const checked = asValidated(config, acpConfigSchema);
  let session: AcpSession | undefined;
  const end = async (): Promise<void> => {
    const old = session;
    session = undefined;
    await old?.end();
  };
  return {
    answers: true,
    run: async (request) => {
      request.signal.throwIfAborted();
      const kept = request.attempt > 0 && session?.isAlive === true ? session : undefined;
      let current = kept;
      if (current === undefined) {
        await end();
        current = await AcpSession.open(checked, request);
        session = current;
      }
      const isKnown = kept !== undefined || current.isContinued;
      return current.prompt(request, isKnown ? request.prompt : request.promptWithoutSession);
    },
    close: end,
  };
}
