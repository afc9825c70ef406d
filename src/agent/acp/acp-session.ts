import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientConnection, InitializeResponse, PromptResponse } from '@agentclientprotocol/sdk/unstable';

import type { JsonObject } from '../../json.ts';
import { isJsonObject } from '../../json.ts';
import { AgentBroken } from '../agent-errors.ts';
import type { AgentReply, AgentRequest } from '../contract.ts';
import { saysTooLong, TOO_LONG_HINT } from '../too-long.ts';
import { WorkingFolderMissing } from '../command/start-program.ts';
import { GuardedPaths } from '../guarded-paths.ts';
import { DEFAULT_GRACE_MS, DEFAULT_MAX_OUTPUT_BYTES, DEFAULT_START_TIMEOUT_MS } from './acp-config.ts';
import type { AcpConfig } from './acp-config.ts';
import { acpEnvironment } from './acp-environment.ts';
import { AgentProcess } from './agent-process.ts';
import { createClientApp } from './client-handlers.ts';
import { loadSdk } from './load-sdk.ts';
import { toolsMissing, untilToolsAreListed, uwfMcpServer } from './mcp-server.ts';
import { isAuthRequired, notAuthorized } from './not-authorized.ts';
import { OutputFlood } from './message-stream.ts';
import { openSession } from './open-session.ts';
import type { OpenSession } from './open-session.ts';
import { PromptTurn } from './prompt-turn.ts';
import type { WorkPlace } from './prompt-turn.ts';
import { removeReportedResult, replyOfPrompt } from './reply-of-prompt.ts';
import { costCountingOf, nameOfSession, readSessionName, SessionCost } from './session-cost.ts';
import { usageOfPrompt } from './usage-of-prompt.ts';
import { whenAborted, within } from './within.ts';
import { WorkingFolder } from './working-folder.ts';

/** How long the end of a process may be behind that of its output. */
const EXIT_WAIT_MS = 500;
/** A session's past is over when it was quiet for so long … */
const QUIET_MS = 150;
/** … or when it takes longer than this. */
const MAX_REPLAY_MS = 10_000;

/** A running agent with an open session, for the tries of one turn. */
export class AcpSession {
  readonly #config: AcpConfig;
  readonly #process: AgentProcess;
  readonly #place: WorkPlace;
  #connection: ClientConnection | undefined;
  #about: InitializeResponse | undefined;
  #session: OpenSession | undefined;
  /** The prompt at hand. Updates and requests that come at another time are of no turn. */
  #turn: PromptTurn | undefined;
  #updates = 0;
  /** Whether anything was told again that was said in the session before. */
  #hasPast = false;
  #cost: SessionCost | undefined;

  private constructor(config: AcpConfig, process: AgentProcess, place: WorkPlace) {
    this.#config = config;
    this.#process = process;
    this.#place = place;
  }

  /**
   * Starts an agent and opens a session with it, the request's own where that can be continued.
   *
   * Whatever goes wrong, and on an abort, no process is left.
   * @throws the signal's reason when it is aborted
   * @throws {AgentMissing} when the program is not there
   * @throws {AgentNotAuthorized} when somebody has to log in first
   * @throws {AgentBroken} when it does not come to answer, or speaks another version of the protocol
   */
  static async open(config: AcpConfig, request: AgentRequest): Promise<AcpSession> {
    const folder = await WorkingFolder.at(request.cwd).catch((cause: unknown) => {
      throw new WorkingFolderMissing(request.cwd, cause);
    });
    const guard = await GuardedPaths.at(folder.path, request.env);
    const listener: { read?: (params: JsonObject) => void } = {};
    const agent = await AgentProcess.start({
      argv: config.command,
      argvKey: 'command',
      cwd: folder.path,
      env: acpEnvironment(request.env, config.passEnv, config.env),
      graceMs: config.graceMs ?? DEFAULT_GRACE_MS,
      stepDir: request.stepDir,
      maxOutputBytes: config.maxOutputBytes ?? DEFAULT_MAX_OUTPUT_BYTES,
      onUpdate: (params) => listener.read?.(params),
    });
    const session = new AcpSession(config, agent, { folder, guard });
    listener.read = (params) => session.#read(params);
    try {
      request.emit({ kind: 'process-group', pgid: agent.pgid });
      const opening = session.#open(request);
      const limitMs = config.startTimeoutMs ?? DEFAULT_START_TIMEOUT_MS;
      await within(opening, { limitMs, signal: request.signal, onLate: () => session.#notReady(limitMs) });
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
   * On an abort, the agent is told to cancel, has the grace time to do so, and is ended then. So it is when somebody
   * has to permit something and nobody is there, but that its process stays.
   * @throws the signal's reason when it is aborted; no process is left then
   * @throws {AgentNotAuthorized} when somebody has to log in first
   */
  async prompt(request: AgentRequest, text: string): Promise<AgentReply> {
    const { signal } = request;
    const graceMs = this.#config.graceMs ?? DEFAULT_GRACE_MS;
    const stop = new AbortController();
    const turn = new PromptTurn(request, this.#place, this.#config, () => stop.abort());
    const aborted = whenAborted(signal, () => stop.abort());
    const stopped = whenAborted(stop.signal, () => void this.#cancel());
    await removeReportedResult(request.stepDir);
    this.#process.renewBudget();
    this.#turn = turn;
    let response: PromptResponse | undefined;
    try {
      const answer = this.#require(this.#connection).agent.request('session/prompt', {
        sessionId: this.#require(this.#session).id,
        prompt: [{ type: 'text', text }],
      });
      response = await Promise.race([
        // Qwen Code 0.15 fails where it is told to stop.
        answer.catch((error: unknown) => (stop.signal.aborted ? undefined : Promise.reject(error as Error))),
        stopped.after(graceMs),
      ]);
      signal.throwIfAborted();
      turn.finish();
      const cost = this.#require(this.#cost);
      const usage = usageOfPrompt(response, turn.reader, cost.share(turn.reader.sessionCostUsd));
      if (usage) request.emit({ kind: 'usage', usage });
      const session = nameOfSession({ id: this.#require(this.#session).id, costUsd: cost.usd });
      return await replyOfPrompt(turn, response, { session, agentVersion: this.#version(), usage });
    } catch (error) {
      // The session's next prompt has in its cost what this one has cost.
      const usage = usageOfPrompt(response, turn.reader, { isAtLeast: true });
      if (usage) request.emit({ kind: 'usage', usage });
      signal.throwIfAborted();
      turn.finish();
      return await this.#failedAttempt(error, turn);
    } finally {
      this.#turn = undefined;
      aborted.forget();
      stopped.forget();
      await turn.terminals.endAll();
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
    const app = await createClientApp(() => this.#turn);
    const { PROTOCOL_VERSION } = await loadSdk();
    const connection = app.connect(this.#process.stream);
    this.#connection = connection;
    const { agent } = connection;
    const { fs = {} } = this.#config;
    const about = await agent.request('initialize', {
      protocolVersion: PROTOCOL_VERSION,
      clientCapabilities: {
        fs: { readTextFile: fs.read ?? true, writeTextFile: fs.write ?? true },
        terminal: true,
      },
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
    this.#session = await openSession(agent, about, this.#config, {
      cwd: this.#place.folder.path,
      session: left?.id,
      mcpServers: this.#config.mcp === false ? [] : [uwfMcpServer(request)],
    });
    if (this.#session.isReplayed) {
      await this.#untilQuiet();
      // Qwen Code 0.15 loads any session, one that it has never had too.
      if (!this.#hasPast) this.#session = { ...this.#session, isContinued: false };
    }
    this.#cost = new SessionCost(await costCountingOf(about.agentInfo), this.isContinued ? left : undefined);
    if (this.#config.mcp === false || (await untilToolsAreListed(request.stepDir, () => this.isAlive))) return;
    if (!this.isAlive) return;
    const { message, hint } = toolsMissing(this.#version());
    request.emit({ kind: 'refusal', text: `${message} (${hint})` });
  }

  #read(params: JsonObject): void {
    this.#updates += 1;
    const { update } = params;
    // Before the prompt is sent, what comes is the session's past, told again.
    if (!isJsonObject(update)) return;
    this.#turn?.reader.read(update);
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
    const text = turn.reader.segments.at(-1) ?? '';
    // What cannot be talked to any more must not run on.
    if (!this.isAlive) await this.end();
    // Asked again, it would be as long.
    if (saysTooLong(message)) {
      return { kind: 'failed-attempt', reason: `${message}; ${TOO_LONG_HINT}`, text, isFinal: true };
    }
    return { kind: 'failed-attempt', reason: message, text };
  }

  /** Says of a failure what is known of its cause: how the process ended, what it printed. */
  async #explain(error: unknown): Promise<Error> {
    const [program] = this.#config.command;
    if (error instanceof OutputFlood)
      return new Error(`'${program}' wrote ${error.message} and was ended`, { cause: error });
    // A connection that closes announces an end that the system has not told of yet.
    const isClosed = this.#connection?.signal.aborted === true;
    const outcome = isClosed ? await this.#process.whenExited(EXIT_WAIT_MS) : this.#process.outcome;
    if (outcome !== undefined) return new Error(this.#process.explain(`'${program}' ${outcome}`), { cause: error });
    if (isClosed) return new Error(this.#process.explain(`'${program}' closed its output`), { cause: error });
    if (!(error instanceof Error)) return new Error(String(error));
    if (!('code' in error) || typeof error.code !== 'number') return error;
    const data = 'data' in error && error.data !== undefined ? `: ${JSON.stringify(error.data)}` : '';
    return new Error(this.#process.explain(`'${program}' failed: ${error.message}${data}`), { cause: error });
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
