import type { JsonObject } from '../../../json.ts';
import { asValidated } from '../../../schema/typed-schema.ts';
import type { SchemaOf } from '../../../schema/typed-schema.ts';

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
