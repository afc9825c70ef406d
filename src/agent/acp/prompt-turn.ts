import type {
  PromptResponse,
  RequestPermissionOutcome,
  RequestPermissionRequest,
} from '@agentclientprotocol/sdk/unstable';
import { isJsonObject, type JsonObject } from '../../json.ts';
import type { AgentRequest, Usage } from '../contract.ts';
import { RESULT_TOOL } from '../extract/result-tool.ts';
import type { WorkingFolder } from '../files/working-folder.ts';
import { readAsked } from '../mcp/mcp-record.ts';
import type { AcpConfig } from './acp-config.ts';
import { OwnTools } from './own-tools.ts';
import { PermissionGate } from './permissions/permission-gate.ts';
import { UpdateReader } from './update-reader.ts';
import { type CostOfPrompt, fullest, nameOfSession, type SessionCost, tokensOfAnswer } from './usage.ts';

/** An agent that reports its result more often in one prompt does nothing else any more. */
const MAX_REPORTS = 5;

/** All that one prompt to an agent needs on this side of the protocol, from its sending to its answer. */
export class PromptTurn {
  readonly request: AgentRequest;
  readonly folder: WorkingFolder;
  readonly reader: UpdateReader;
  readonly gate: PermissionGate;
  /** Why the turn has to wait for a person; undefined while it need not. */
  unanswered: string | undefined;
  /** What a person denied last, and how much the agent had said by then. */
  #denied: { what: string; characters: number } | undefined;

  /** Whether the agent was told to stop because it reports its result again and again. */
  isReportedEnough = false;
  readonly #reportsBefore: number;
  readonly #stop: () => void;

  /** @param stop called as soon as a person has to answer and none is there, or the result is reported too often */
  constructor(request: AgentRequest, folder: WorkingFolder, config: AcpConfig, stop: () => void) {
    this.#stop = stop;
    this.#reportsBefore = countReports(request.stepDir);
    this.request = request;
    this.folder = folder;
    this.reader = new UpdateReader((event) => request.emit(event));
    this.gate = new PermissionGate({
      request,
      folder,
      ownTools: new OwnTools(config.mcp === false ? undefined : request.stepDir),
      permissions: request.withoutTools === true ? 'deny' : config.permissions,
      onUnanswered: (reason) => {
        this.unanswered ??= reason;
        stop();
      },
      onDenied: (what) => {
        this.#denied = { what, characters: this.reader.characters };
      },
    });
  }

  /** What a person denied, where the agent has said nothing since. */
  get deniedLast(): string | undefined {
    return this.#denied?.characters === this.reader.characters ? this.#denied.what : undefined;
  }

  /** Tells what the prompt has cost so far: a limit of cost ends it in its middle. */
  tellCost(cost: SessionCost | undefined, session: string | undefined): void {
    const costUsd = this.reader.sessionCostUsd;
    const soFar = cost?.soFar(costUsd);
    const usage = soFar?.costUsd === undefined ? undefined : usageOfPrompt(undefined, this.reader, soFar);
    if (usage === undefined || session === undefined) return;
    this.request.emit({ kind: 'usage', usage });
    // If the turn is cut off, the next prompt of the session counts from here.
    this.request.emit({ kind: 'session', session: nameOfSession({ id: session, costUsd }) });
  }

  /** Reads what the agent tells of its work. */
  read(update: JsonObject): void {
    this.reader.read(update);
    if (update['sessionUpdate'] !== 'tool_call') return;
    if (countReports(this.request.stepDir) - this.#reportsBefore <= MAX_REPORTS) return;
    this.isReportedEnough = true;
    this.#stop();
  }

  /** Answers a question for permission. */
  permit({ toolCall, options }: RequestPermissionRequest): Promise<RequestPermissionOutcome> {
    const call: unknown = toolCall;
    return this.gate.answer(this.reader.readAskedCall(isJsonObject(call) ? call : {}), options);
  }

  /** Tells what was left open, now that the agent has finished. */
  finish(): void {
    this.reader.finish();
    this.gate.finish();
  }
}

function countReports(stepDir: string): number {
  return readAsked(stepDir).filter((asked) => 'called' in asked && asked.called === RESULT_TOOL).length;
}

/**
 * What a prompt has used, by all that the agent told; `undefined` where it ended in order and its model said nothing. It is at
 * least that where the agent told nothing, where it was cut off, and where it told of its last request alone, as opencode does.
 * @param response undefined where the agent gave no answer
 */
export function usageOfPrompt(
  response: PromptResponse | undefined,
  reader: UpdateReader,
  cost: CostOfPrompt,
): Usage | undefined {
  const { requests, contextTokens } = reader;
  const tokens = fullest(requests, tokensOfAnswer(response));
  const turns = Math.max(reader.turns, requests?.turns ?? 0);
  const isCutOff = response === undefined || response.stopReason === 'cancelled';
  if (tokens === undefined && turns === 0 && !isCutOff) return undefined;
  const { inputTokens, outputTokens } = tokens ?? { inputTokens: 0, outputTokens: 0 };
  // What the context holds is what the last request was given, and for some what it said.
  const isLastAlone =
    turns > 1 && tokens !== requests && [inputTokens, inputTokens + outputTokens].includes(contextTokens ?? -1);
  const isAtLeast = tokens?.isAtLeast ?? cost.isAtLeast ?? (tokens === undefined || isLastAlone || isCutOff);
  return { ...tokens, inputTokens, outputTokens, turns, ...cost, ...(isAtLeast && { isAtLeast }) };
}
