import type {
  ClientContext,
  InitializeResponse,
  McpServer,
  SessionConfigOption,
  SessionModeState,
} from '@agentclientprotocol/sdk/unstable';

import { AgentBroken } from '../agent-errors.ts';
import type { AcpConfig } from './acp-config.ts';
import { isAuthRequired, notAuthorized } from './not-authorized.ts';
import { loadSdk } from './load-sdk.ts';

/** A session of an agent, ready to be asked. */
export type OpenSession = {
  id: string;
  /** False where the one that was to be continued is lost: the agent knows nothing of what went before. */
  isContinued: boolean;
  /** True where the agent tells the session's past again, be it before or after it says that the session is open. */
  isReplayed: boolean;
};

/** What an agent says of a session it has opened. */
type SessionInfo = {
  sessionId: string;
  modes?: SessionModeState | null;
  configOptions?: SessionConfigOption[] | null;
};

/**
 * Opens a session with an agent that has been initialized: logs in where that is configured, continues the session that
 * is asked for if it is still there, and chooses model and mode.
 * @throws {AgentNotAuthorized} when the agent wants somebody to log in first
 * @throws {AgentBroken} when it has not got what is configured: that way to log in, that model, that mode
 */
export async function openSession(
  agent: ClientContext,
  about: InitializeResponse,
  config: AcpConfig,
  wanted: { cwd: string; session: string | undefined; mcpServers: McpServer[] },
): Promise<OpenSession> {
  try {
    if (config.authMethod !== undefined) await logIn(agent, about, config.authMethod);
    const continued = wanted.session === undefined ? undefined : await goOn(agent, about, wanted, wanted.session);
    const info: SessionInfo = continued ?? (await agent.request('session/new', onlyPlace(wanted)));
    await choose(agent, info.sessionId, info, config);
    const isReplayed = continued !== undefined && resumeMethod(about) === 'session/load';
    return { id: info.sessionId, isContinued: continued !== undefined, isReplayed };
  } catch (error) {
    if (isAuthRequired(error)) throw notAuthorized(about, config, error);
    throw error;
  }
}

function onlyPlace({ cwd, mcpServers }: { cwd: string; mcpServers: McpServer[] }): {
  cwd: string;
  mcpServers: McpServer[];
} {
  return { cwd, mcpServers };
}

async function logIn(agent: ClientContext, about: InitializeResponse, methodId: string): Promise<void> {
  const known = (about.authMethods ?? []).map(({ id }) => id);
  if (!known.includes(methodId)) {
    throw new AgentBroken(`the agent has no way to log in called '${methodId}'`, {
      hint: known.length === 0 ? "leave 'authMethod' out" : `'authMethod' may be ${known.join(', ')}`,
    });
  }
  await agent.request('authenticate', { methodId });
}

/** Continues a session; undefined where the agent cannot, or has it no more. */
async function goOn(
  agent: ClientContext,
  about: InitializeResponse,
  wanted: { cwd: string; mcpServers: McpServer[] },
  sessionId: string,
): Promise<SessionInfo | undefined> {
  const { RequestError } = await loadSdk();
  const method = resumeMethod(about);
  if (method === undefined) return undefined;
  try {
    const info = await agent.request(method, { ...onlyPlace(wanted), sessionId });
    return { ...info, sessionId };
  } catch (error) {
    if (error instanceof RequestError && !isAuthRequired(error)) return undefined;
    throw error;
  }
}

/** Resuming tells nothing again of what was said; loading does. */
function resumeMethod({ agentCapabilities }: InitializeResponse): 'session/resume' | 'session/load' | undefined {
  if (agentCapabilities?.sessionCapabilities?.resume) return 'session/resume';
  return agentCapabilities?.loadSession ? 'session/load' : undefined;
}

async function choose(agent: ClientContext, sessionId: string, info: SessionInfo, config: AcpConfig): Promise<void> {
  const { model, mode } = config;
  if (model !== undefined) await chooseOption(agent, sessionId, info, 'model', model);
  if (mode === undefined) return;
  const modes = info.modes?.availableModes.map(({ id }) => id);
  if (modes === undefined) await chooseOption(agent, sessionId, info, 'mode', mode);
  else if (modes.includes(mode)) await agent.request('session/set_mode', { sessionId, modeId: mode });
  else throw notOffered('mode', mode, modes);
}

async function chooseOption(
  agent: ClientContext,
  sessionId: string,
  { configOptions }: SessionInfo,
  category: 'model' | 'mode',
  value: string,
): Promise<void> {
  const option = configOptions?.find((candidate) => candidate.category === category && candidate.type === 'select');
  const values =
    option?.type === 'select' ? option.options.flatMap((item) => ('group' in item ? item.options : item)) : [];
  const offered = values.map((item) => item.value);
  if (option === undefined || !offered.includes(value)) throw notOffered(category, value, offered);
  await agent.request('session/set_config_option', { sessionId, configId: option.id, value });
}

function notOffered(what: 'model' | 'mode', value: string, offered: readonly string[]): AgentBroken {
  return new AgentBroken(`the agent offers no ${what} '${value}'`, {
    hint:
      offered.length === 0
        ? `it lets no client choose: leave '${what}' out, and name it in 'command' or in the agent's own configuration`
        : `it offers ${offered.slice(0, 20).join(', ')}`,
  });
}
