import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type * as Sdk from '@agentclientprotocol/sdk/unstable';
import type {
  ClientContext,
  InitializeResponse,
  McpServerStdio,
  NewSessionRequest,
  SessionConfigOption,
  SessionModeState,
} from '@agentclientprotocol/sdk/unstable';
import { messageOf } from '../../errors.ts';
import { packageRoot } from '../../git/system/process-identity.ts';
import { isJsonObject, type JsonObject } from '../../json.ts';
import { AgentBroken, AgentNotAuthorized } from '../agent-errors.ts';
import type { AgentRequest } from '../contract.ts';
import { readAsked } from '../mcp/mcp-record.ts';
import { headAndTail, MAX_SAID_CHARACTERS } from '../processes/start-program.ts';
import type { AcpConnection } from './acp-connection.ts';
import { COPILOT_SERVER, warnOfMode } from './known-agents.ts';
import { costCountingOf, readSessionName, SessionCost } from './usage.ts';

/** The report of a session's past is over after a silence of this time … */
const QUIET_MS = 150;
/** … and at the latest after this time. */
const MAX_REPLAY_MS = 10_000;

/** A session of an agent, ready to be asked. */
export type OpenSession = {
  id: string;
  /** False if the session to continue is lost: the agent then knows nothing of the earlier turns. */
  isContinued: boolean;
  /** What the agent says of itself. */
  about: InitializeResponse;
  cost: SessionCost;
};

type OpenConfig = {
  command: readonly [string, ...string[]];
  authMethod?: string;
  model?: string;
  mode?: string;
  mcp?: boolean;
};

/**
 * Opens a session with an agent that has been started: logs in where that is configured, continues the request's session if it
 * is still there, chooses model and mode, and waits until the agent knows uwf's tools. Mistakes in the configuration are told
 * before the model costs anything.
 * @throws {AgentNotAuthorized} when the agent needs a person to log in first
 * @throws {AgentBroken} when it speaks another version of the protocol, or has not got what is configured: that way to log in,
 *   that model, that mode; and when it opens a session without an id
 */
export async function openSession(
  { PROTOCOL_VERSION, RequestError }: typeof Sdk,
  connection: AcpConnection,
  config: OpenConfig,
  request: AgentRequest,
  cwd: string,
  past: PastReader,
): Promise<OpenSession> {
  const { agent } = connection;
  const [name] = config.command;
  const about = await agent.request('initialize', {
    protocolVersion: PROTOCOL_VERSION,
    // What an agent does by itself it asks for; what it had uwf do would be asked for a second time.
    clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
    clientInfo: { name: 'uwf', title: 'uwf', version: '1' },
  });
  if (about.protocolVersion !== PROTOCOL_VERSION) {
    throw new AgentBroken(`the agent '${name}' speaks version ${about.protocolVersion} of the Agent Client Protocol`, {
      hint: `uwf speaks version ${PROTOCOL_VERSION}: install a version of the agent that does as well`,
    });
  }
  const left = request.session === undefined ? undefined : readSessionName(request.session);
  const place = { cwd, mcpServers: config.mcp === false ? [] : [uwfMcpServer(request)] };
  const isRefusal = (error: unknown): boolean => error instanceof RequestError && !isAuthRequired(error);
  const { method, info } = await enter(agent, about, config, place, left?.id, isRefusal);
  past.id = info.sessionId;
  if (method === 'session/load') await past.untilQuiet();
  // Qwen Code 0.15 loads any session, one that it has never had too.
  const isContinued = method === 'session/resume' || (method === 'session/load' && past.hasMessages);
  const cost = new SessionCost(await costCountingOf(about.agentInfo), isContinued ? left : undefined);
  const warn = (warning: { message: string; hint?: string | undefined } | undefined): void => {
    if (warning) request.emit({ kind: 'refusal', text: `${warning.message} (${warning.hint})` });
  };
  if (!isContinued) warn(warnOfMode({ name, package: 'builtin:acp', config }));
  if (config.mcp !== false && !(await untilToolsAreListed(request.stepDir, () => connection.isAlive))) {
    if (connection.isAlive) warn(toolsMissing(versionOf(about)));
  }
  return { id: info.sessionId, isContinued, about, cost };
}

/** Reads what an agent reports until its session is open: the session's past, told again. */
export class PastReader {
  /** Whether the agent has reported messages of the past. */
  hasMessages = false;
  id: string | undefined;
  #updates = 0;

  read({ update, sessionId }: JsonObject): void {
    this.#updates += 1;
    // A helper of the agent may have a session of its own.
    if (this.id !== undefined && typeof sessionId === 'string' && sessionId !== this.id) return;
    const kind = isJsonObject(update) ? update['sessionUpdate'] : undefined;
    this.hasMessages ||= kind === 'user_message_chunk' || kind === 'agent_message_chunk';
  }

  /** Waits for the rest of it: the Gemini CLI goes on after it has said to be ready. */
  async untilQuiet(): Promise<void> {
    const deadline = performance.now() + MAX_REPLAY_MS;
    for (let seen = -1; seen !== this.#updates && performance.now() < deadline;) {
      seen = this.#updates;
      await sleep(QUIET_MS);
    }
  }
}

/** What an agent calls itself, with its version. */
export function versionOf({ agentInfo }: InitializeResponse): string | undefined {
  return agentInfo ? `${agentInfo.title ?? agentInfo.name} ${agentInfo.version}` : undefined;
}

/** An agent that resumes does not report the session's past; one that loads does. */
type ResumeMethod = 'session/resume' | 'session/load';

/** What an agent says of a session it has opened. */
type SessionInfo = {
  sessionId: string;
  modes?: SessionModeState | null;
  configOptions?: SessionConfigOption[] | null;
  /** What came before options that are configured, and what the Gemini CLI has alone; the SDK knows it no more. */
  models?: { availableModels?: { modelId: string }[]; currentModelId?: string } | null;
};

/** Opens a new session, or continues the one that is wanted if it is still there. */
async function enter(
  agent: ClientContext,
  about: InitializeResponse,
  config: OpenConfig,
  place: NewSessionRequest,
  wanted: string | undefined,
  isRefusal: (error: unknown) => boolean,
): Promise<{ method?: ResumeMethod; info: SessionInfo }> {
  try {
    if (config.authMethod !== undefined) await logIn(agent, about, config.authMethod);
    const continued = wanted === undefined ? undefined : await goOn(agent, about, place, wanted, isRefusal);
    const entered = continued ?? { info: await agent.request('session/new', place) };
    // The SDK passes on whatever an agent gives.
    if (!isJsonObject(entered.info) || typeof entered.info.sessionId !== 'string') {
      throw new AgentBroken("the agent's answer to 'session/new' has no 'sessionId'", {
        hint: 'look for a newer version of the agent, or tell its author',
      });
    }
    await choose(agent, entered.info, config);
    return entered;
  } catch (error) {
    if (isAuthRequired(error)) throw notAuthorized(about, config, error);
    throw error;
  }
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
  isRefusal: (error: unknown) => boolean,
): Promise<{ method: ResumeMethod; info: SessionInfo } | undefined> {
  const methods: ResumeMethod[] = [
    ...(agentCapabilities?.sessionCapabilities?.resume ? (['session/resume'] as const) : []),
    ...(agentCapabilities?.loadSession ? (['session/load'] as const) : []),
  ];
  for (const method of methods) {
    try {
      const info = await agent.request(method, { ...place, sessionId });
      return { method, info: { ...info, sessionId } };
    } catch (error) {
      if (!isRefusal(error)) throw error;
    }
  }
  return undefined;
}

/** A choice that the agent offers: its values, and how one is taken. */
type Offer = { values: readonly string[]; take(value: string): Promise<unknown> };

async function choose(agent: ClientContext, info: SessionInfo, { model, mode }: OpenConfig): Promise<void> {
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
export function notAuthorized(about: InitializeResponse, config: OpenConfig, cause: unknown): AgentNotAuthorized {
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

/** The variables that tell `uwf mcp` whose turn it serves. */
const VARIABLES = ['UWF_THREAD', 'UWF_ROLE', 'UWF_STEP_DIR', 'UWF_REPOSITORY'];

/** uwf's own MCP server as an agent is told to start it: for this thread, this role and this step. */
function uwfMcpServer(request: AgentRequest): McpServerStdio {
  const env = {
    ...request.env,
    UWF_THREAD: request.threadId,
    UWF_ROLE: request.role,
    UWF_STEP_DIR: request.stepDir,
  } as Readonly<Record<string, string>>; // a spread of an index signature loses the names it was given
  return {
    name: 'uwf',
    command: process.execPath,
    args: [join(packageRoot(), 'bin', 'uwf.js'), 'mcp', ...(request.withoutTools === true ? ['--result-only'] : [])],
    env: VARIABLES.flatMap((name) => (env[name] === undefined ? [] : [{ name, value: env[name] }])),
  };
}

/** How long an agent has to start uwf's server, and from there until it has asked for the tools. */
const START_MS = 2_000;
const LIST_MS = 15_000;
const POLL_MS = 50;

/**
 * Waits for an agent to ask uwf's server for its tools: some have a session before they have the tools of its servers, and
 * a model that is asked then does not know them.
 * @returns false where it does not ask; what an agent says of its servers does not count
 */
async function untilToolsAreListed(stepDir: string, isRunning: () => boolean): Promise<boolean> {
  const beginMs = performance.now();
  const isLate = (): boolean =>
    performance.now() - beginMs > (readAsked(stepDir).length === 0 ? START_MS : LIST_MS) || !isRunning();
  while (!hasListedTools(stepDir)) {
    if (isLate()) return false;
    await sleep(POLL_MS);
  }
  return true;
}

/** Tells whether the agent of a turn has asked uwf's server for its tools. */
export function hasListedTools(stepDir: string): boolean {
  return readAsked(stepDir).some((asked) => 'listed' in asked);
}

const remedies: readonly (readonly [RegExp, string])[] = [
  [
    /gemini/iu,
    "it starts no server in a folder that it does not trust: start 'gemini' there and trust the folder, or put GEMINI_CLI_TRUST_WORKSPACE: 'true' into the agent's env",
  ],
  [
    /copilot/iu,
    `it takes no server of this kind over ACP: add --additional-mcp-config '${COPILOT_SERVER}' to its command`,
  ],
];

/** What an agent lacks that took no server of uwf's, and what helps. */
export function toolsMissing(agent: string | undefined): AgentBroken {
  const remedy = remedies.find(([name]) => agent !== undefined && name.test(agent))?.[1];
  return new AgentBroken(
    `${agent ?? 'the agent'} has not taken uwf's MCP server: it cannot call report_result, thread_read, cas_get and the others`,
    { hint: `${remedy ?? 'see whether it lets its client name MCP servers'}; or say mcp: false in its config` },
  );
}
