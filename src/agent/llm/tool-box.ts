import { messageOf } from '../../errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../json.ts';
import { inPlaceOf } from '../../or-else.ts';
import { InvalidSchema } from '../../schema/schema-error.ts';
import { asValidated, type SchemaOf } from '../../schema/typed-schema.ts';
import type { AgentEvent } from '../contract.ts';
import { checkValue } from '../extract/extract-reply.ts';
import { headAndTail } from '../processes/start-program.ts';

/** A tool that the model wants called. `mistake` says why it cannot be, in words for the model. */
export type RequestedCall = { id: string; name: string; input: JsonValue; mistake: string | undefined };

/** The outcome of a call: the result, or the reason why there is none, in words for the model. */
type CallOutcome = { text: string; isError: boolean };

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

  /** Calls a tool. An error is an answer for the model, which can correct the call. */
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

/** Something a model can ask for. */
export interface Tool {
  readonly name: string;
  /** What the configuration calls it, where that is no name that servers of models take. */
  readonly called?: string;
  readonly description: string;
  /** JSON Schema of what the model calls it with, which is held against it before the call. */
  readonly inputSchema: JsonObject;
  /** True where the tool itself says what is wrong with its input, and takes more than its schema says. */
  readonly checksItself?: boolean;
  /**
   * Does it and says what came of it.
   * @throws {ToolFailure} with words for the model, which can try otherwise
   * @throws {ToolRefused} if it may not
   */
  run(input: JsonObject, signal: AbortSignal): Promise<string>;
}

/** Makes a tool whose input has the type that its schema describes. */
export function defineTool<Input>(
  tool: Omit<Tool, 'inputSchema' | 'run'> & {
    input: SchemaOf<Input>;
    run(input: Input, signal: AbortSignal): Promise<string>;
  },
): Tool {
  const { input: inputSchema, ...rest } = tool;
  return { ...rest, inputSchema, run: (input, signal) => tool.run(asValidated(input, inputSchema), signal) };
}

/** A tool could not do what it was asked for. The message is for the model. */
export class ToolFailure extends Error {}

/** A tool was asked for something that it may not do. The message is for the model, and told as a `refusal`. */
export class ToolRefused extends ToolFailure {}
