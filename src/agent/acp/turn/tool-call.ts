import { isJsonObject } from '../../../json.ts';
import type { JsonObject, JsonValue } from '../../../json.ts';
import { cutText } from '../../processes/head-and-tail.ts';
import type { Deed } from '../permissions/deed.ts';
import { deedOfCall, objectsOf, textOf } from '../permissions/deed-of-call.ts';

/** What a tool's result may have in characters before it is cut. */
const MAX_RESULT_CHARACTERS = 1024 * 1024;
const MAX_NAME_CHARACTERS = 64;
/** Where a tool call stands (`ToolCallStatus`). */
export type ToolStatus = 'pending' | 'in_progress' | 'completed' | 'failed';

/** A tool call as it is known so far: agents tell of it piece by piece, each field anew where it has changed. */
export class ToolCall {
  readonly id: string;
  readonly startedAtMs: number = performance.now();
  #fields: JsonObject = {};
  readonly #titles = new Set<string>();

  constructor(id: string) {
    this.id = id;
  }

  /** Takes in a `ToolCall` or `ToolCallUpdate`; a field that is absent or null says nothing new. */
  update(fields: JsonObject): void {
    const news = Object.entries(fields).filter(([, value]) => value !== null);
    this.#fields = { ...this.#fields, ...Object.fromEntries(news) };
    if (this.#text('title') !== '') this.#titles.add(this.#text('title'));
  }

  get status(): ToolStatus {
    const status = this.#fields['status'];
    return status === 'in_progress' || status === 'completed' || status === 'failed' ? status : 'pending';
  }

  get isOver(): boolean {
    return this.status === 'completed' || this.status === 'failed';
  }

  get title(): string {
    return this.#text('title') || this.name;
  }

  /** All titles that it has borne: Copilot tells of `uwf-thread_list`, and asks for `thread_list`. */
  get titles(): readonly string[] {
    return [...this.#titles];
  }

  /** `other` where the agent does not say. */
  get kind(): string {
    return this.#text('kind') || 'other';
  }

  /** The tool's own name where the agent tells it, else what comes nearest: a title of one word, or the kind. */
  get name(): string {
    // Qwen Code has it in `_meta` itself, Claude's bridge one deeper.
    const meta = isJsonObject(this.#fields['_meta']) ? this.#fields['_meta'] : {};
    const said = isJsonObject(meta['claudeCode']) ? meta['claudeCode']['toolName'] : meta['toolName'];
    const names = [this.#text('name'), typeof said === 'string' ? said : '', this.#text('title')];
    const name = names.find((text) => /^[\w.:/-]+$/u.test(text) && text.length <= MAX_NAME_CHARACTERS);
    return name ?? this.kind;
  }

  /** What the tool is called with; where the agent does not tell, what it says about the call. */
  get arguments(): JsonValue {
    if (this.hasInput) return this.#fields['rawInput'] ?? null;
    const { paths } = this.deed;
    return { title: this.title, ...(paths.length > 0 && { paths: [...paths] }) };
  }

  get hasInput(): boolean {
    const input = this.#fields['rawInput'];
    return isJsonObject(input) ? Object.keys(input).length > 0 : input !== undefined && input !== '';
  }

  /** All that the agent has said of it. */
  get fields(): Readonly<JsonObject> {
    return this.#fields;
  }

  /** What it would do, as far as is known now. */
  get deed(): Deed {
    const { name, title, kind } = this;
    return deedOfCall(
      name === kind || title.includes(name) ? this.#fields : { ...this.#fields, title: `${name}: ${title}` },
    );
  }

  /** @param terminalOutput gives what a terminal has written */
  result(terminalOutput: (id: string) => string): string {
    const parts = objectsOf(this.#fields['content']).map((content) => textOfContent(content, terminalOutput));
    const text = parts.filter((part) => part !== '').join('\n');
    const { rawOutput } = this.#fields;
    const said = text || (typeof rawOutput === 'string' ? rawOutput : outputOf(rawOutput));
    if (said.length <= MAX_RESULT_CHARACTERS) return said;
    const left = said.length - MAX_RESULT_CHARACTERS;
    return `${cutText(said, MAX_RESULT_CHARACTERS)}\n… (${left} more characters were cut)`;
  }

  #text(key: string): string {
    return textOf(this.#fields[key]);
  }
}

function textOfContent(item: JsonObject, terminalOutput: (id: string) => string): string {
  const { type, content, terminalId } = item;
  if (type === 'content' && isJsonObject(content)) return textOfBlock(content);
  if (type === 'terminal' && typeof terminalId === 'string') return terminalOutput(terminalId);
  if (type !== 'diff') return '';
  const { path, oldText, newText } = item;
  const sides = [['---', oldText] as const, ['+++', newText] as const];
  return sides
    .flatMap(([mark, text]) => (typeof text === 'string' ? [`${mark} ${word(path)}\n${text}`] : []))
    .join('\n');
}

/** The text of a content block; of one without text, what it is. */
export function textOfBlock(block: JsonObject): string {
  const { type, text, resource, uri } = block;
  if (type === 'text' && typeof text === 'string') return text;
  if (isJsonObject(resource))
    return typeof resource['text'] === 'string' ? resource['text'] : `[${word(resource['uri'])}]`;
  return type === 'resource_link' ? word(uri) : `[${word(type)}]`;
}

function word(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '?';
}

function outputOf(rawOutput: JsonValue | undefined): string {
  if (rawOutput === undefined) return '';
  if (isJsonObject(rawOutput) && typeof rawOutput['output'] === 'string') return rawOutput['output'];
  return JSON.stringify(rawOutput, undefined, 2);
}
