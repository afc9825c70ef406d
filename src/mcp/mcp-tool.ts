import type { Redaction } from '../engine/redact/redaction.ts';
import type { Repository } from '../git/repository.ts';
import type { JsonObject, JsonValue } from '../json.ts';

/** What the server works on. */
export type McpScope = {
  repository: Repository;
  /** The thread that an agent works in (`UWF_THREAD`), and that the server keeps to; `undefined` where none does. */
  thread: string | undefined;
  /** The folder of the step that an agent works on (`UWF_STEP_DIR`); `undefined` outside of a turn. */
  stepDir: string | undefined;
  /** Whether there is no tool but the one that reports the result of that step. */
  isResultOnly?: boolean;
  /** Takes secrets out of what is put: for each call anew. */
  redaction: () => Redaction;
  /** uwf's own version. */
  version: string;
};

/** A tool that the server offers. */
export type McpTool = {
  name: string;
  description: string;
  /** JSON Schema; its `type` is `object`. The input of a call satisfies it. */
  inputSchema: JsonObject;
  /** True where the tool changes nothing. */
  isReadOnly: boolean;
  /** True where the tool itself says what is wrong with its input, and takes more than its schema says. */
  checksItself?: true;
  /** @returns a text as it is, or what is written as JSON */
  run(input: JsonObject, scope: McpScope): Promise<JsonValue>;
};

/** The argument by which tools are told of a thread. */
export const threadInput: JsonObject = {
  type: 'string',
  minLength: 1,
  description: 'its id, or the first characters; by default the thread that you work in',
};

/** The input schema of a tool. */
export function inputOf(properties: JsonObject, required: string[] = []): JsonObject {
  return { type: 'object', properties, required, additionalProperties: false };
}

/** A text of a tool's input; `undefined` where it was left out. */
export function textInput(input: JsonObject, name: string): string | undefined {
  const value = input[name];
  return typeof value === 'string' ? value : undefined;
}

/** A number of a tool's input; `undefined` where it was left out. */
export function numberInput(input: JsonObject, name: string): number | undefined {
  const value = input[name];
  return typeof value === 'number' ? value : undefined;
}
