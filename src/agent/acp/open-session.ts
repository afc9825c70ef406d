import type {
  ClientContext,
  InitializeResponse,
  NewSessionRequest,
  SessionConfigOption,
  SessionModeState,
} from '@agentclientprotocol/sdk/unstable';
import { messageOf } from '../../errors.ts';
import { isJsonObject } from '../../json.ts';
import { AgentBroken, AgentNotAuthorized } from '../agent-errors.ts';
import { headAndTail, MAX_SAID_CHARACTERS } from '../processes/program-output.ts';
import { type AcpConfig, loadSdk } from './acp-config.ts';

/** A session of an agent, ready to be asked. */
export type OpenSession = {
  id: string;
  /** False if the session to continue is lost: the agent then knows nothing of the earlier turns. */
  isContinued: boolean;
  /** True if the agent reports the session's past again, before or after it reports that the session is open. */
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
 * @param wanted the id of the session to continue
 * @throws {AgentNotAuthorized} when the agent needs a person to log in first
 * @throws {AgentBroken} when it has not got what is configured: that way to log in, that model, that mode; and when
 *   it opens a session without an id
 */
export async function openSession(
  agent: ClientContext,
  about: InitializeResponse,
  config: AcpConfig,
  place: NewSessionRequest,
  wanted: string | undefined,
): Promise<OpenSession> {
  try {
    if (config.authMethod !== undefined) await logIn(agent, about, config.authMethod);
    const continued = wanted === undefined ? undefined : await goOn(agent, about, place, wanted);
    const info: SessionInfo = continued?.info ?? (await agent.request('session/new', place));
    if (!isJsonObject(info) || typeof info.sessionId !== 'string') throw withoutId();
    await choose(agent, info, config);
    const isReplayed = continued?.method === 'session/load';
    return { id: info.sessionId, isContinued: continued !== undefined, isReplayed };
  } catch (error) {
    if (isAuthRequired(error)) throw notAuthorized(about, config, error);
    throw error;
  }
}

/** The SDK passes on whatever an agent gives. */
function withoutId(): AgentBroken {
  return new AgentBroken("the agent's answer to 'session/new' has no 'sessionId'", {
    hint: 'look for a newer version of the agent, or tell its author',
  });
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
  place: NewSessionRequest,
  sessionId: string,
): Promise<{ method: ResumeMethod; info: SessionInfo } | undefined> {
  const { RequestError } = await loadSdk();
  const methods: ResumeMethod[] = [
    ...(agentCapabilities?.sessionCapabilities?.resume ? (['session/resume'] as const) : []),
    ...(agentCapabilities?.loadSession ? (['session/load'] as const) : []),
  ];
  for (const method of methods) {
    try {
      const info = await agent.request(method, { ...place, sessionId });
      return { method, info: { ...info, sessionId } };
    } catch (error) {
      if (!(error instanceof RequestError) || isAuthRequired(error)) throw error;
    }
  }
  return undefined;
}

/** An agent that resumes does not report the session's past; one that loads does. */
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
  if (offer !== undefined) return void (await offer.take(value));
  const offered = [...new Set(offers.flatMap(({ values }) => values))];
  throw new AgentBroken(`the agent offers no ${what} '${value}'`, {
    hint:
      offered.length === 0
        ? `it lets no client choose: leave '${what}' out, and name it in 'command' or in the agent's own configuration`
        : `it offers ${offered.slice(0, 20).join(', ')}`,
  });
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

/** The protocol's own code for "log in first" (`RequestError.authRequired`). */
const AUTH_REQUIRED = -32000;

/** Tells whether an agent refused because no user is logged in. */
export function isAuthRequired(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === AUTH_REQUIRED;
}

/** The error that says how to log in with an agent, as far as the agent says it. */
export function notAuthorized(about: InitializeResponse, config: AcpConfig, cause: unknown): AgentNotAuthorized {
  const [program] = config.command;
  const said = headAndTail(messageOf(cause), MAX_SAID_CHARACTERS);
  const methods = about.authMethods ?? [];
  const ways = methods.map(({ id, name, description }) => `${id} (${description || name})`);
  const others = methods.map(({ id }) => id).filter((id) => id !== config.authMethod);
  const hints = [
    `start '${program}' by itself once and log in there`,
    "or name the variable with its key in the agent's config, passEnv",
    ...(others.length === 0 ? [] : [`or choose one of its ways as authMethod: ${others.join(', ')}`]),
    ...(ways.length === 0 ? [] : [`it knows ${ways.join('; ')}`]),
  ];
  return new AgentNotAuthorized(`the agent '${program}' wants a person to log in: ${said}`, {
    subject: program,
    hint: hints.join('; '),
    cause,
  });
}
