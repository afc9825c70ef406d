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
  /** True where the agent has to tell the session's past again, be it before or after it says that the session is open. */
  isReplayed: boolean;
};

/** What an agent says of a session it has opened. */
type SessionInfo = {
  sessionId: string;
  modes?: SessionModeState | null;
  configOptions?: SessionConfigOption[] | null;
  /** What came before options that are configured, and what the Gemini CLI has alone; the SDK knows it no more. */
  models?: { availableModels?: { modelId: string }[]; currentModelId?: string } | null;
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
    const info: SessionInfo = continued?.info ?? (await agent.request('session/new', onlyPlace(wanted)));
    await choose(agent, info, config);
    const isReplayed = continued?.method === 'session/load';
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

/** Continues a session in the first way that the agent announces and has; undefined where it cannot, or has it no more. */
async function goOn(
  agent: ClientContext,
  { agentCapabilities }: InitializeResponse,
  wanted: { cwd: string; mcpServers: McpServer[] },
  sessionId: string,
): Promise<{ method: ResumeMethod; info: SessionInfo } | undefined> {
  const { RequestError } = await loadSdk();
  const methods: ResumeMethod[] = [
    ...(agentCapabilities?.sessionCapabilities?.resume ? (['session/resume'] as const) : []),
    ...(agentCapabilities?.loadSession ? (['session/load'] as const) : []),
  ];
  for (const method of methods) {
    try {
      const info = await agent.request(method, { ...onlyPlace(wanted), sessionId });
      return { method, info: { ...info, sessionId } };
    } catch (error) {
      if (!(error instanceof RequestError) || isAuthRequired(error)) throw error;
    }
  }
  return undefined;
}

/** Resuming tells nothing again of what was said; loading does. */
type ResumeMethod = 'session/resume' | 'session/load';

/** A choice that the agent offers: its values, and how one is taken. */
type Offer = { values: readonly string[]; take(value: string): Promise<unknown> };

async function choose(agent: ClientContext, info: SessionInfo, { model, mode }: AcpConfig): Promise<void> {
  const { sessionId, models, modes } = info;
  const ofModels: Offer = {
    // The Gemini CLI leaves out the one that it was started with.
    values: [...(models?.availableModels ?? []), { modelId: models?.currentModelId }].flatMap(
      ({ modelId }) => modelId ?? [],
    ),
    take: (modelId) => agent.request('session/set_model', { sessionId, modelId }),
  };
  const ofModes: Offer = {
    values: (modes?.availableModes ?? []).map(({ id }) => id),
    take: (modeId) => agent.request('session/set_mode', { sessionId, modeId }),
  };
  if (model !== undefined) await chooseFrom([optionOf(agent, info, 'model'), ofModels], 'model', model);
  if (mode !== undefined) await chooseFrom([ofModes, optionOf(agent, info, 'mode')], 'mode', mode);
}

async function chooseFrom(offers: readonly Offer[], what: 'model' | 'mode', value: string): Promise<void> {
  const offer = offers.find(({ values }) => values.includes(value));
  if (offer === undefined) throw notOffered(what, value, [...new Set(offers.flatMap(({ values }) => values))]);
  await offer.take(value);
}

function optionOf(agent: ClientContext, info: SessionInfo, category: 'model' | 'mode'): Offer {
  const { sessionId, configOptions } = info;
  const option = configOptions?.find((candidate) => candidate.category === category && candidate.type === 'select');
  if (option?.type !== 'select') return { values: [], take: () => Promise.resolve() };
  const items = option.options.flatMap((item) => ('group' in item ? item.options : item));
  return {
    values: items.map((item) => item.value),
    take: (value) => agent.request('session/set_config_option', { sessionId, configId: option.id, value }),
  };
}

function notOffered(what: 'model' | 'mode', value: string, offered: readonly string[]): AgentBroken {
  return new AgentBroken(`the agent offers no ${what} '${value}'`, {
    hint:
      offered.length === 0
        ? `it lets no client choose: leave '${what}' out, and name it in 'command' or in the agent's own configuration`
        : `it offers ${offered.slice(0, 20).join(', ')}`,
  });
}
