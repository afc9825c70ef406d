import type { JsonObject } from '../../json.ts';
import type { Agent, AgentReply, AgentRequest, PackageDescriptor } from '../contract.ts';
import { acpConfigSchema } from './acp-config.ts';
import type { AcpConfig } from './acp-config.ts';
import { AcpSession } from './acp-session.ts';

/** `builtin:acp`: any agent that speaks the Agent Client Protocol. */
export const packageDescriptor: PackageDescriptor = {
  name: 'builtin:acp',
  version: '1.0.0',
  capabilities: ['sessions', 'streaming', 'tools', 'permissions'],
  configSchema: acpConfigSchema,
};

/**
 * Makes an agent that drives a coding agent over the Agent Client Protocol.
 *
 * The coding agent runs in a process group of its own from the first try of a turn until `close`, so that a correction
 * goes into the conversation it is about. An aborted turn leaves no process.
 * @param config has been checked against `packageDescriptor.configSchema`
 * @see https://agentclientprotocol.com
 */
export function createAgent(config: JsonObject): Agent {
  // The schema that config was checked against describes this very type.
  const checked = config as AcpConfig;
  /** What runs, by the folder of the step it works for: all tries of a turn have the same. */
  const running = new Map<string, AcpSession>();
  return {
    answers: true,
    run: (request) => takeTurn(checked, running, request),
    close: async () => {
      const sessions = [...running.values()];
      running.clear();
      await Promise.all(sessions.map((session) => session.end()));
    },
  };
}

async function takeTurn(
  config: AcpConfig,
  running: Map<string, AcpSession>,
  request: AgentRequest,
): Promise<AgentReply> {
  request.signal.throwIfAborted();
  const { stepDir } = request;
  const kept = running.get(stepDir);
  // The next step's folder may bear an old one's name; its first try starts anew.
  const isSameTurn = kept?.isAlive === true && request.attempt > 0;
  const session = kept !== undefined && isSameTurn ? kept : await startAnew(config, running, request);
  const isKnown = isSameTurn || session.isContinued;
  return session.prompt(request, isKnown ? request.prompt : request.promptWithoutSession);
}

async function startAnew(
  config: AcpConfig,
  running: Map<string, AcpSession>,
  request: AgentRequest,
): Promise<AcpSession> {
  const old = running.get(request.stepDir);
  running.delete(request.stepDir);
  await old?.end();
  const session = await AcpSession.open(config, request);
  running.set(request.stepDir, session);
  return session;
}
