import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientConnection, InitializeResponse, PromptResponse } from '@agentclientprotocol/sdk/unstable';

import type { JsonObject } from '../../json.ts';
import { isJsonObject } from '../../json.ts';
import { AgentBroken } from '../agent-errors.ts';
import type { AgentReply, AgentRequest } from '../contract.ts';
import { headAndTail, MAX_SAID_CHARACTERS, OutputFlood } from '../processes/program-output.ts';
import {
  type AcpConfig,
  DEFAULT_GRACE_MS,
  DEFAULT_MAX_OUTPUT_BYTES,
  DEFAULT_START_TIMEOUT_MS,
  loadSdk,
} from './acp-config.ts';
import { acpEnvironment, AgentProcess } from './agent-process.ts';
import { toolsMissing, untilToolsAreListed, uwfMcpServer } from './own-tools.ts';
import { warnOfMode } from './known-agents.ts';
import { isAuthRequired, notAuthorized, openSession, type OpenSession } from './open-session.ts';
import { PromptTurn, usageOfPrompt } from './prompt-turn.ts';
import { checkedAnswer, failedAttempt, removeReportedResult, replyOfPrompt } from './reply-of-prompt.ts';
import { costCountingOf, nameOfSession, readSessionName, SessionCost } from './usage.ts';
import { whenAborted, within } from '../processes/within.ts';
import { WorkingFolder } from '../files/working-folder.ts';

/** The longest time from the end of a process's output to the end of the process. */
const EXIT_WAIT_MS = 500;
/** The report of a session's past is over after a silence of this time … */
const QUIET_MS = 150;
/** … and at the latest after this time. */
const MAX_REPLAY_MS = 10_000;

/** A running agent with an open session, for the tries of one turn. */
export class AcpSession {
  readonly #config: AcpConfig;
  readonly #process: AgentProcess;
  readonly #folder: WorkingFolder;
  #connection: ClientConnection | undefined;
  #about: InitializeResponse | undefined;
  #session: OpenSession | undefined;
  /** The current prompt. Updates and requests at other times belong to no turn. */
  #turn: PromptTurn | undefined;
  #updates = 0;
  /** Whether the agent has reported messages of the session's past. */
  #hasPast = false;
  #cost: SessionCost | undefined;

  private constructor(config: AcpConfig, process: AgentProcess, folder: WorkingFolder) {
    this.#config = config;
    this.#process = process;
    this.#folder = folder;
    process.onUpdate = (params) => this.#read(params);
  }

  /**
   * Starts an agent and opens a session with it, the request's own where that can be continued.
   *
   * After an error or an abort, no process is left.
   * @throws the signal's reason when it is aborted
   * @throws {AgentMissing} when the program is not there
   * @throws {AgentNotAuthorized} when a person has to log in first
   * @throws {AgentBroken} when it does not come to answer, or speaks another version of the protocol
   */
  static async open(config: AcpConfig, request: AgentRequest): Promise<AcpSession> {
    const folder = await WorkingFolder.at(request.cwd, request.env);
    const agent = await AgentProcess.start({
      argv: config.command,
      argvKey: 'command',
      cwd: folder.path,
      env: acpEnvironment(request.env, config.passEnv, config.env),
      graceMs: config.graceMs ?? DEFAULT_GRACE_MS,
      stepDir: request.stepDir,
      maxOutputBytes: config.maxOutputBytes ?? DEFAULT_MAX_OUTPUT_BYTES,
    });
    const session = new AcpSession(config, agent, folder);
    try {
      request.emit({ kind: 'process-group', pgid: agent.pgid });
      const opening = session.#open(request);
      const limitMs = config.startTimeoutMs ?? DEFAULT_START_TIMEOUT_MS;
      await within(opening, request.signal, { limitMs, onLate: () => session.#notReady(limitMs) });
      return session;
    } catch (error) {
      const cause = await session.#explain(error);
      await session.end();
      request.signal.throwIfAborted();
      throw cause;
    }
  }

  /** True while its process runs and is connected. */
  get isAlive(): boolean {
    return this.#connection?.signal.aborted === false && this.#process.outcome === undefined;
  }

  /** False where the session that was to be continued is lost. */
  get isContinued(): boolean {
    return this.#session?.isContinued ?? false;
  }

  /**
   * Sends a prompt and gives the agent's answer to it as a reply.
   *
   * On an abort, the agent is told to cancel, has the grace time to do so, and is then ended. Where a permission is needed
   * and no person is there, it is told to cancel as well, and its process stays.
   * @throws the signal's reason when it is aborted; no process is left then
   * @throws {AgentNotAuthorized} when a person has to log in first
   */
  async prompt(request: AgentRequest, text: string): Promise<AgentReply> {
    const { signal } = request;
    const graceMs = this.#config.graceMs ?? DEFAULT_GRACE_MS;
    const stop = new AbortController();
    const turn = new PromptTurn(request, this.#folder, this.#config, () => stop.abort());
    const forget = [whenAborted(signal, () => stop.abort())];
    let timer: NodeJS.Timeout | undefined;
    const isLate = new Promise<undefined>((resolve) => {
      const onStop = (): void => {
        void this.#cancel();
        timer = setTimeout(() => resolve(undefined), graceMs);
      };
      forget.push(whenAborted(stop.signal, onStop));
    });
    await removeReportedResult(request.stepDir);
    this.#process.renewBudget();
    this.#turn = turn;
    let response: PromptResponse | undefined;
    const id = this.#require(this.#session).id;
    try {
      request.emit({ kind: 'session', session: nameOfSession({ id, costUsd: this.#cost?.usd }) });
      const answer = this.#require(this.#connection).agent.request('session/prompt', {
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
      const cost = this.#require(this.#cost);
      const usage = usageOfPrompt(response, turn.reader, cost.share(turn.reader.sessionCostUsd));
      if (usage) request.emit({ kind: 'usage', usage });
      const session = nameOfSession({ id, costUsd: cost.usd });
      return await replyOfPrompt(turn, response, { session, agentVersion: this.#version(), usage });
    } catch (error) {
      const cost = this.#cost?.share(turn.reader.sessionCostUsd);
      const usage = usageOfPrompt(response, turn.reader, { ...cost, isAtLeast: true });
      if (usage) request.emit({ kind: 'usage', usage });
      // The next prompt in it is to count from here.
      request.emit({ kind: 'session', session: nameOfSession({ id, costUsd: this.#cost?.usd }) });
      signal.throwIfAborted();
      turn.finish();
      return await this.#failedAttempt(error, turn);
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
  async end(): Promise<void> {
    this.#connection?.close();
    await this.#process.end();
  }

  async #open(request: AgentRequest): Promise<void> {
    const { client, PROTOCOL_VERSION, RequestError } = await loadSdk();
    const app = client({ name: 'uwf' }).onRequest('session/request_permission', async ({ params }) => {
      if (this.#turn === undefined) throw RequestError.invalidRequest(undefined, 'no turn is going on');
      return { outcome: await this.#turn.permit(params) };
    });
    const connection = app.connect(this.#process.stream);
    this.#connection = connection;
    const { agent } = connection;
    const about = await agent.request('initialize', {
      protocolVersion: PROTOCOL_VERSION,
      // What an agent does by itself it asks for; what it had uwf do would be asked for a second time.
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
      clientInfo: { name: 'uwf', title: 'uwf', version: '1' },
    });
    if (about.protocolVersion !== PROTOCOL_VERSION) {
      throw new AgentBroken(
        `the agent '${this.#config.command[0]}' speaks version ${about.protocolVersion} of the Agent Client Protocol`,
        { hint: `uwf speaks version ${PROTOCOL_VERSION}: install a version of the agent that does as well` },
      );
    }
    this.#about = about;
    const left = request.session === undefined ? undefined : readSessionName(request.session);
    const mcpServers = this.#config.mcp === false ? [] : [uwfMcpServer(request)];
    const place = { cwd: this.#folder.path, mcpServers };
    this.#session = await openSession(agent, about, this.#config, place, left?.id);
    if (this.#session.isReplayed) {
      await this.#untilQuiet();
      // Qwen Code 0.15 loads any session, one that it has never had too.
      if (!this.#hasPast) this.#session = { ...this.#session, isContinued: false };
    }
    this.#cost = new SessionCost(await costCountingOf(about.agentInfo), this.isContinued ? left : undefined);
    if (!this.isContinued) {
      const [name] = this.#config.command;
      this.#warn(request, warnOfMode({ name, package: 'builtin:acp', config: this.#config }));
    }
    if (this.#config.mcp === false || (await untilToolsAreListed(request.stepDir, () => this.isAlive))) return;
    if (this.isAlive) this.#warn(request, toolsMissing(this.#version()));
  }

  /** Tells of a mistake in the configuration before the model costs anything. */
  #warn(request: AgentRequest, warning: { message: string; hint?: string | undefined } | undefined): void {
    if (warning) request.emit({ kind: 'refusal', text: `${warning.message} (${warning.hint})` });
  }

  #read(params: JsonObject): void {
    this.#updates += 1;
    const { update, sessionId } = params;
    // What another session of the agent says, such as that of a helper, is no part of the reply.
    if (this.#session !== undefined && typeof sessionId === 'string' && sessionId !== this.#session.id) return;
    // Before the prompt is sent, what comes is the session's past, told again.
    if (!isJsonObject(update)) return;
    this.#turn?.read(update);
    if (update['sessionUpdate'] === 'usage_update') this.#turn?.tellCost(this.#cost, this.#session?.id);
    this.#hasPast ||=
      update['sessionUpdate'] === 'user_message_chunk' || update['sessionUpdate'] === 'agent_message_chunk';
  }

  /** Waits for the rest of a past that is told again: the Gemini CLI goes on with it after it has said to be ready. */
  async #untilQuiet(): Promise<void> {
    const deadline = performance.now() + MAX_REPLAY_MS;
    for (let seen = -1; seen !== this.#updates && performance.now() < deadline;) {
      seen = this.#updates;
      await sleep(QUIET_MS);
    }
  }

  async #cancel(): Promise<void> {
    const sessionId = this.#session?.id;
    // An agent that is gone needs no word.
    if (sessionId !== undefined) await this.#connection?.agent.notify('session/cancel', { sessionId }).catch(() => {});
  }

  async #failedAttempt(error: unknown, turn: PromptTurn): Promise<AgentReply> {
    if (isAuthRequired(error)) throw notAuthorized(this.#require(this.#about), this.#config, error);
    const { message } = await this.#explain(error);
    // A process without a connection must not run on.
    if (!this.isAlive) await this.end();
    return failedAttempt(turn, message, this.isAlive);
  }

  /** Says of a failure what is known of its cause: how the process ended, what it printed. */
  async #explain(error: unknown): Promise<Error> {
    const [program] = this.#config.command;
    if (error instanceof OutputFlood)
      return new Error(`'${program}' wrote ${error.message} and was ended`, { cause: error });
    // The connection closes before the system reports the end of the process.
    const isClosed = this.#connection?.signal.aborted === true;
    const outcome = isClosed ? await this.#process.whenExited(EXIT_WAIT_MS) : this.#process.outcome;
    if (outcome !== undefined) return new Error(this.#process.explain(`'${program}' ${outcome}`), { cause: error });
    if (isClosed) return new Error(this.#process.explain(`'${program}' closed its output`), { cause: error });
    if (!(error instanceof Error)) return new Error(String(error));
    if (!('code' in error) || typeof error.code !== 'number') return error;
    const data = 'data' in error && error.data !== undefined ? `: ${JSON.stringify(error.data)}` : '';
    const said = headAndTail(`${error.message}${data}`, MAX_SAID_CHARACTERS);
    return new Error(this.#process.explain(`'${program}' failed: ${said}`), { cause: error });
  }

  #notReady(limitMs: number): Error {
    const [program] = this.#config.command;
    return new AgentBroken(this.#process.explain(`'${program}' was not ready within ${limitMs / 1000} s`), {
      hint: "start it by itself to see whether it speaks the Agent Client Protocol; 'startTimeoutMs' gives it more time",
    });
  }

  #version(): string | undefined {
    const info = this.#about?.agentInfo;
    return info ? `${info.title ?? info.name} ${info.version}` : undefined;
  }

  /** What {@link open} has set: without it there is no session to call methods of. */
  #require<Value>(value: Value | undefined): Value {
    if (value === undefined) throw new TypeError('the session is not open');
    return value;
  }
}
