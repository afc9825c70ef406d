import { isJsonObject } from '../../json.ts';
import type { JsonObject } from '../../json.ts';
import { InvalidSchema } from '../../schema/validator.ts';
import { checkValue } from '../check-value.ts';
import type { AgentEvent } from '../contract.ts';
import type { RequestedCall } from './ask-model.ts';
import { headAndTail } from '../head-and-tail.ts';
import { ToolRefused } from './tools/tool.ts';
import type { Tool } from './tools/tool.ts';

/** What came of a call: the result, or in words for the model why there is none. */
export type CallOutcome = { text: string; isError: boolean };

/** Calls tools as a model asks for it, and tells of every call. */
export class ToolBox {
  readonly tools: readonly Tool[];
  readonly #emit: (event: AgentEvent) => void;
  readonly #redact: (text: string) => string;
  readonly #maxCharacters: number;
  #calls = 0;

  constructor(
    tools: readonly Tool[],
    options: { emit: (event: AgentEvent) => void; redact: (text: string) => string; maxCharacters: number },
  ) {
    this.tools = tools;
    this.#emit = options.emit;
    this.#redact = options.redact;
    this.#maxCharacters = options.maxCharacters;
  }

  /**
   * Calls a tool. Whatever goes wrong is an answer for the model, which can correct it.
   * @throws the signal's reason when the turn is aborted
   */
  async call(requested: RequestedCall, signal: AbortSignal): Promise<CallOutcome> {
    // Servers give the same id again in another answer.
    const id = `call-${(this.#calls += 1)}`;
    this.#emit({ kind: 'tool-call', id, name: requested.name, arguments: requested.input });
    const startedMs = performance.now();
    const outcome = await this.#run(requested, signal);
    const result = this.#redact(headAndTail(outcome.text, this.#maxCharacters));
    const durationMs = Math.round(performance.now() - startedMs);
    this.#emit({ kind: 'tool-result', id, result, durationMs, ...(outcome.isError && { isError: true }) });
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
      const text = error instanceof Error ? error.message : String(error);
      if (error instanceof ToolRefused) this.#emit({ kind: 'refusal', text: `${name}: ${this.#redact(text)}` });
      return failed(text);
    }
  }
}

async function findMistakes({ inputSchema }: Tool, input: JsonObject): Promise<string[]> {
  try {
    return await checkValue(inputSchema, input, 'input');
  } catch (error) {
    // The schema of somebody else's tool may be none; its server checks for itself.
    if (error instanceof InvalidSchema) return [];
    throw error;
  }
}
