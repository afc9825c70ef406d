import { isJsonObject } from '../../../json.ts';
import type { JsonObject } from '../../../json.ts';
import { InvalidSchema } from '../../../schema/schema-error.ts';
import { checkValue } from '../../extract/check-value.ts';
import type { AgentEvent } from '../../contract.ts';
import type { RequestedCall } from '../model/ask-model.ts';
import { headAndTail } from '../../processes/program-output.ts';
import { ToolRefused } from './tool.ts';
import type { Tool } from './tool.ts';
import { messageOf } from '../../../errors.ts';
import { inPlaceOf } from '../../../or-else.ts';

/** The outcome of a call: the result, or the reason why there is none, in words for the model. */
export type CallOutcome = { text: string; isError: boolean };

type ToolBoxOptions = { emit: (event: AgentEvent) => void; redact: (text: string) => string; maxCharacters: number };

/** Calls tools as a model asks for it, and tells of every call. */
export class ToolBox {
  readonly tools: readonly Tool[];
  readonly #options: ToolBoxOptions;
  #calls = 0;

  constructor(tools: readonly Tool[], options: ToolBoxOptions) {
    this.tools = tools;
    this.#options = options;
  }

  /**
   * Calls a tool. An error is an answer for the model, which can correct the call.
   * @throws the signal's reason when the turn is aborted
   */
  async call(requested: RequestedCall, signal: AbortSignal): Promise<CallOutcome> {
    // Servers give the same id again in another answer.
    const id = `call-${(this.#calls += 1)}`;
    const { emit, redact, maxCharacters } = this.#options;
    emit({ kind: 'tool-call', id, name: requested.name, arguments: requested.input });
    const startedMs = performance.now();
    const outcome = await this.#run(requested, signal);
    const result = redact(headAndTail(outcome.text, maxCharacters));
    const durationMs = Math.round(performance.now() - startedMs);
    emit({ kind: 'tool-result', id, result, durationMs, ...(outcome.isError && { isError: true }) });
    return { text: result, isError: outcome.isError };
  }

  async #run({ name, input, mistake }: RequestedCall, signal: AbortSignal): Promise<CallOutcome> {
    const failed = (text: string): CallOutcome => ({ text, isError: true });
    const tool = this.tools.find((candidate) => candidate.name === name);
    if (tool === undefined) {
      return failed(`there is no tool '${name}'; there is ${this.tools.map((known) => known.name).join(', ')}`);
    }
    if (mistake !== undefined) return failed(`the arguments of ${name} cannot be read: ${mistake}`);
    if (!isJsonObject(input)) return failed(`the arguments of ${name} have to be an object`);
    const mistakes = tool.checksItself === true ? [] : await findMistakes(tool, input);
    if (mistakes.length > 0) return failed(mistakes.join('\n'));
    try {
      return { text: await tool.run(input, signal), isError: false };
    } catch (error) {
      signal.throwIfAborted();
      const text = messageOf(error);
      const { emit, redact } = this.#options;
      if (error instanceof ToolRefused) emit({ kind: 'refusal', text: `${name}: ${redact(text)}` });
      return failed(text);
    }
  }
}

async function findMistakes({ inputSchema }: Tool, input: JsonObject): Promise<string[]> {
  // The schema of an MCP server's tool may be invalid; the server checks the input itself.
  return checkValue(inputSchema, input, 'input').catch(inPlaceOf(InvalidSchema, []));
}
