import type { Redaction } from '../engine/redaction.ts';
import { UwfError } from '../errors.ts';
import type { Repository } from '../git/repository.ts';
import type { JsonObject, JsonValue } from '../json.ts';

/** What the server works on. */
export type McpContext = {
  repository: Repository;
  /** The thread that an agent works in (`UWF_THREAD`), and that the server keeps to; `undefined` where none does. */
  thread: string | undefined;
  /** The folder of the step that an agent works on (`UWF_STEP_DIR`); `undefined` where nobody does. */
  stepDir: string | undefined;
  /** Takes secrets out of what is put: for each call anew. */
  redaction: () => Redaction;
  /** uwf's own version. */
  version: string;
};

/** A tool that the server offers. */
export type McpTool = {
  name: string;
  description: string;
  /** JSON Schema; its `type` is `object`. What a tool is called with has been held against it. */
  inputSchema: JsonObject;
  /** True where the tool changes nothing. */
  isReadOnly: boolean;
  /** True where the tool itself says what is wrong with its input, and takes more than its schema says. */
  checksItself?: true;
  /** @returns a text as it is, or what is written as JSON */
  run(input: JsonObject): Promise<JsonValue>;
};

/** A tool was not told which thread, and there is none that everything is about. */
export class ThreadNeeded extends UwfError {
  constructor() {
    super('no thread was named, and no role is at work here', {
      code: 'thread-needed',
      kind: 'usage',
      hint: "give 'thread', an id that thread_list lists",
    });
  }
}

/** The argument by which tools are told of a thread. */
export const threadArgument: JsonObject = {
  type: 'string',
  minLength: 1,
  description: 'its id, or the first characters; by default the thread that you work in',
};

/** The input schema of a tool. */
export function inputOf(properties: JsonObject, required: string[] = []): JsonObject {
  return { type: 'object', properties, required, additionalProperties: false };
}
