import type { PromptResponse } from '@agentclientprotocol/sdk/unstable';
import { isJsonObject, type JsonObject } from '../../json.ts';
import {
  asValidated,
  commandLineSchema,
  flagSchema,
  integerSchema,
  listSchema,
  NOT_EMPTY,
  objectSchema,
  recorded,
  recordSchema,
  type SchemaOf,
  textSchema,
  type ValueOf,
} from '../../schema/typed-schema.ts';
import { AgentBroken } from '../agent-errors.ts';
import type { Agent, AgentReply, AgentRequest, PackageDescriptor } from '../contract.ts';
import { describeBuiltIn } from '../describe-built-in.ts';
import { WorkingFolder } from '../files/working-folder.ts';
import { whenAborted, within } from '../processes/within.ts';
import { AcpConnection, acpEnvironment, type AgentClient, startAgent } from './acp-connection.ts';
import { isAuthRequired, notAuthorized, openSession, type OpenSession, PastReader, versionOf } from './open-session.ts';
import { permissionsSchema } from './permissions.ts';
import { failedAttempt, PromptTurn, removeReportedResult, replyOfPrompt } from './prompt-turn.ts';
import { nameOfSession, usageOfPrompt } from './usage.ts';

const DEFAULT_START_TIMEOUT_MS = 300_000;
const DEFAULT_GRACE_MS = 5_000;
const DEFAULT_MAX_OUTPUT_BYTES: number = 64 * 1024 * 1024;

const duration = (description: string, minimum: number): SchemaOf<number> =>
  integerSchema(description, minimum, { maximum: 3_600_000 });

/**
 * JSON Schema of the configuration.
 *
 * What may hold paths of this machine, or what should be secret, is not recorded with the thread.
 */
const configSchema = objectSchema(
  { command: commandLineSchema("the agent's program and its arguments; no shell reads them") },
  {
    env: recordSchema(textSchema(), 'added to the environment that the agent gets'),
    passEnv: listSchema(
      textSchema(undefined, { pattern: '^[A-Za-z_][A-Za-z0-9_]*$' }),
      'names of variables that the agent gets beside PATH, HOME and the like: ANTHROPIC_API_KEY',
    ),
    authMethod: textSchema("the id of the agent's way to log in", NOT_EMPTY),
    model: recorded(textSchema('the model to ask for, where the agent lets its client choose', NOT_EMPTY)),
    mode: recorded(textSchema('the mode to ask for, where the agent has modes', NOT_EMPTY)),
    permissions: permissionsSchema,
    mcp: flagSchema("whether the agent is given uwf's own MCP server (true)"),
    startTimeoutMs: duration('how long it may take until the session is open, in ms (300000)', 1),
    graceMs: duration('from asking to stop to SIGTERM, and from there to SIGKILL, in ms (5000)', 0),
    maxOutputBytes: integerSchema('bytes of standard output that one try of a turn may write (67108864)', 1024, {
      maximum: 1_073_741_824,
    }),
  },
);

/** The configuration of `builtin:acp`, defaults not yet filled in. */
type AcpConfig = ValueOf<typeof configSchema>;

/** `builtin:acp`: any agent that speaks the Agent Client Protocol. */
export const packageDescriptor: PackageDescriptor = describeBuiltIn(
  'acp',
  ['sessions', 'streaming', 'tools', 'permissions'],
  configSchema,
);

/**
 * Makes an agent that drives a coding agent over the Agent Client Protocol.
 *
 * The coding agent runs in a process group of its own from the first try of a turn until `close`, so that a correction
 * goes into the conversation it is about. An aborted turn leaves no process.
 * @param start how its program is started
 * @see https://agentclientprotocol.com
 */
export function createAgent(config: JsonObject, start: typeof startAgent = startAgent): Agent {
  const checked = asValidated(config, configSchema);
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
        current = await AcpSession.open(checked, request, start);
        session = current;
      }
      const isKnown = kept !== undefined || current.isContinued;
      return current.prompt(request, isKnown ? request.prompt : request.promptWithoutSession);
    },
    close: end,
  };
}

/** A running agent with an open session, for the tries of one turn. */
class AcpSession {
  readonly #config: AcpConfig;
  readonly #connection: AcpConnection;
  readonly #folder: WorkingFolder;
  readonly #session: OpenSession;
  /** The current prompt. Updates and requests at other times belong to no turn. */
  #turn: PromptTurn | undefined;

  private constructor(config: AcpConfig, connection: AcpConnection, folder: WorkingFolder, session: OpenSession) {
    this.#config = config;
    this.#connection = connection;
    this.#folder = folder;
    this.#session = session;
  }

  /**
   * Starts an agent and opens a session with it, the request's own where that can be continued.
   *
   * After an error or an abort, no process is left.
   */
  static async open(config: AcpConfig, request: AgentRequest, start: typeof startAgent): Promise<AcpSession> {
    const [folder, sdk] = await Promise.all([
      WorkingFolder.at(request.cwd, request.env),
      import('@agentclientprotocol/sdk/unstable'),
    ]);
    const program = await start({
      argv: config.command,
      argvKey: 'command',
      cwd: folder.path,
      env: acpEnvironment(request.env, config.passEnv, config.env),
      graceMs: config.graceMs ?? DEFAULT_GRACE_MS,
      stepDir: request.stepDir,
    });
    const past = new PastReader();
    let session: AcpSession | undefined;
    const client: AgentClient = {
      onUpdate: (params) => (session === undefined ? past.read(params) : session.#read(params)),
      onPermission: (params) => (session === undefined ? undefined : session.#turn?.permit(params)),
    };
    const [name] = config.command;
    const maxOutputBytes = config.maxOutputBytes ?? DEFAULT_MAX_OUTPUT_BYTES;
    const connection = new AcpConnection(sdk, program, client, name, maxOutputBytes);
    try {
      request.emit({ kind: 'process-group', pgid: program.pgid });
      const opening = openSession(sdk, connection, config, request, folder.path, past);
      const limitMs = config.startTimeoutMs ?? DEFAULT_START_TIMEOUT_MS;
      const onLate = (): Error =>
        new AgentBroken(connection.withOutput(`'${name}' was not ready within ${limitMs / 1000} s`), {
          hint: "start it by itself to see whether it speaks the Agent Client Protocol; 'startTimeoutMs' gives it more time",
        });
      const opened = await within(opening, request.signal, { limitMs, onLate });
      session = new AcpSession(config, connection, folder, opened);
      return session;
    } catch (error) {
      const cause = await connection.explain(error);
      await connection.end();
      request.signal.throwIfAborted();
      throw cause;
    }
  }

  /** True while its process runs and is connected. */
  get isAlive(): boolean {
    return this.#connection.isAlive;
  }

  /** False where the session that was to be continued is lost. */
  get isContinued(): boolean {
    return this.#session.isContinued;
  }

  /**
   * Sends a prompt and gives the agent's answer to it as a reply.
   *
   * On an abort, the agent is told to cancel, has the grace time to do so, and is then ended. Where a permission is needed
   * and no person is there, it is told to cancel as well, and its process stays.
   * @throws the signal's reason when it is aborted; no process is left then
   */
  async prompt(request: AgentRequest, text: string): Promise<AgentReply> {
    const { signal } = request;
    const { id, cost, about } = this.#session;
    const stop = new AbortController();
    const turn = new PromptTurn(request, this.#folder, this.#config, () => stop.abort());
    const forget = [whenAborted(signal, () => stop.abort())];
    let timer: NodeJS.Timeout | undefined;
    const isLate = new Promise<undefined>((resolve) => {
      const onStop = (): void => {
        // An agent that is gone needs no word.
        void this.#connection.agent.notify('session/cancel', { sessionId: id }).catch(() => {});
        timer = setTimeout(() => resolve(undefined), this.#config.graceMs ?? DEFAULT_GRACE_MS);
      };
      forget.push(whenAborted(stop.signal, onStop));
    });
    const tellSession = (): string => {
      const session = nameOfSession({ id, costUsd: cost.usd });
      request.emit({ kind: 'session', session });
      return session;
    };
    await removeReportedResult(request.stepDir);
    this.#connection.renewBudget();
    this.#turn = turn;
    let response: PromptResponse | undefined;
    try {
      tellSession();
      const answer = this.#connection.agent.request('session/prompt', {
        sessionId: id,
        prompt: [{ type: 'text', text }],
      });
      // Qwen Code 0.15 fails where it is told to stop.
      const given = answer.catch((error: unknown) => {
        if (!stop.signal.aborted) throw error;
        return undefined;
      });
      response = checkedAnswer(await Promise.race([given, isLate]));
      signal.throwIfAborted();
      turn.finish();
      const usage = usageOfPrompt(response, turn.reader, cost.share(turn.reader.sessionCostUsd));
      if (usage) request.emit({ kind: 'usage', usage });
      const session = nameOfSession({ id, costUsd: cost.usd });
      return await replyOfPrompt(turn, response, { session, agentVersion: versionOf(about), usage });
    } catch (error) {
      const share = cost.share(turn.reader.sessionCostUsd);
      const usage = usageOfPrompt(response, turn.reader, { ...share, isAtLeast: true });
      if (usage) request.emit({ kind: 'usage', usage });
      // The next prompt in it is to count from here.
      tellSession();
      signal.throwIfAborted();
      turn.finish();
      if (isAuthRequired(error)) throw notAuthorized(about, this.#config, error);
      const { message } = await this.#connection.explain(error);
      // A process without a connection must not run on.
      if (!this.isAlive) await this.end();
      return await failedAttempt(turn, message, this.isAlive);
    } finally {
      this.#turn = undefined;
      for (const each of forget) each();
      clearTimeout(timer);
      if (signal.aborted) await this.end();
    }
  }

  /**
   * Ends the agent's process group.
   * @throws {AgentBroken} when it does not end
   */
  end(): Promise<void> {
    return this.#connection.end();
  }

  #read({ update, sessionId }: JsonObject): void {
    const { id, cost } = this.#session;
    // What another session of the agent says, such as that of a helper, is no part of the reply.
    if (!isJsonObject(update) || (typeof sessionId === 'string' && sessionId !== id)) return;
    this.#turn?.read(update);
    if (update['sessionUpdate'] === 'usage_update') this.#turn?.tellCost(cost, id);
  }
}

/** @throws where an agent answered a prompt with something else: the SDK passes on whatever it gives */
function checkedAnswer(response: PromptResponse | undefined): PromptResponse | undefined {
  if (response === undefined || isJsonObject(response)) return response;
  throw new Error("the agent's answer to 'session/prompt' is no object; look for a newer version of the agent");
}
