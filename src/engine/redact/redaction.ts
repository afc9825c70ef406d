import type { AgentEvent } from '../../agent/contract.ts';
import type { JsonValue } from '../../json.ts';
import { orElse } from '../../or-else.ts';
import { marks, type RedactingStream, RedactionFailed, type Redactor } from '../../redaction/redactor.ts';
import type { Redacted } from '../../schema/built-in/schema-parts.ts';
import { hitsInText } from '../../thread/secret-scan.ts';

/**
 * Takes secrets out of all that belongs to one node, and knows how many there were.
 *
 * A secret that stands in several places is one: its marks are equal.
 */
export class Redaction {
  readonly #redactor: Redactor | null;
  readonly #whole: Redaction | undefined;
  readonly #isPassing: boolean;
  readonly #taken = new Map<string, string>();
  #failure: RedactionFailed | undefined;

  /**
   * @param redactor `null` takes nothing out
   * @param whole what this is a part of, and what is taken out here counts for too
   * @param isPassing as of {@link passingPart}
   */
  constructor(redactor: Redactor | null, whole?: Redaction, isPassing: boolean = false) {
    this.#redactor = redactor;
    this.#whole = whole;
    this.#isPassing = isPassing;
  }

  /** A part of this with a count of its own. */
  part(): Redaction {
    return new Redaction(this.#redactor, this, this.#isPassing);
  }

  /**
   * A part for what has been paid for: a text or value that cannot be redacted is given as it is, and {@link failure} says
   * so. What comes of it may be kept in no form that others can read.
   */
  passingPart(): Redaction {
    return new Redaction(this.#redactor, this, true);
  }

  /** Why something of this, or of a part of it, was given as it is. */
  get failure(): RedactionFailed | undefined {
    return this.#failure;
  }

  /** What the node records; `undefined` where nothing was taken out. */
  get taken(): Redacted | undefined {
    if (this.#redactor === null || this.#taken.size === 0) return undefined;
    return { count: this.#taken.size, table: this.#redactor.table };
  }

  /** How many secrets each rule has found. */
  get rules(): Record<string, number> {
    const rules: Record<string, number> = {};
    for (const rule of this.#taken.values()) rules[rule] = (rules[rule] ?? 0) + 1;
    return rules;
  }

  /**
   * @param path of the file that it is
   * @throws {RedactionFailed} where this is no passing part
   */
  text(text: string, path?: string): string {
    const { text: clean, hits } = this.#attempt((redactor) => redactor.redactText(text, path)) ?? { text, hits: [] };
    if (hits.length > 0) this.#count(clean, text);
    return clean;
  }

  /**
   * The same value of JSON without secrets, in its strings and in the keys of its objects.
   * @param keep texts that are not touched
   * @throws {RedactionFailed} where this is no passing part
   */
  json(value: JsonValue, keep?: ReadonlySet<string>): JsonValue {
    const clean = this.#attempt((redactor) => redactor.redactValue(value, keep));
    if (clean === undefined || clean.hits === 0) return value;
    this.#count(JSON.stringify(clean.value), JSON.stringify(value));
    return clean.value;
  }

  /** The same for what is JSON by its type: events, traces, nodes. */
  value<T extends object>(value: T, keep?: ReadonlySet<string>): T {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- It keeps its shape, but for texts.
    return this.json(value as unknown as JsonValue, keep) as unknown as T;
  }

  /** Says where a file has secrets, which stay there: `line 3 (aws-access-key-id)`. */
  find(text: string, path: string): string[] {
    const hits = this.#redactor === null ? [] : hitsInText(this.#redactor, text, path);
    return hits.map(({ at, rule }) => `${at} (${rule})`);
  }

  /** Takes secrets out of a text that comes in pieces. */
  openStream(): Pick<RedactingStream, 'write' | 'end'> {
    if (this.#redactor === null) return { write: (piece) => piece, end: () => '' };
    const stream = this.#redactor.openStream();
    let counted = 0;
    const count = (clean: string): string => {
      if (stream.hits > counted) this.#count(clean, '');
      counted = stream.hits;
      return clean;
    };
    return { write: (piece) => count(stream.write(piece)), end: () => count(stream.end()) };
  }

  #attempt<T>(work: (redactor: Redactor) => T): T | undefined {
    if (this.#redactor === null) return undefined;
    try {
      return work(this.#redactor);
    } catch (error) {
      if (!this.#isPassing) throw error;
      this.#fail(error instanceof RedactionFailed ? error : unexpected(error));
      return undefined;
    }
  }

  #fail(error: RedactionFailed): void {
    this.#failure = error;
    if (this.#whole !== undefined) this.#whole.#fail(error);
  }

  #count(clean: string, before: string): void {
    for (const [mark, rule = ''] of clean.matchAll(marks)) if (!before.includes(mark)) this.#add(mark, rule);
  }

  #add(mark: string, rule: string): void {
    this.#taken.set(mark, rule);
    if (this.#whole !== undefined) this.#whole.#add(mark, rule);
  }
}

/** Its message may quote the text, so it is only the cause. */
function unexpected(cause: unknown): RedactionFailed {
  return new RedactionFailed('a text could not be searched for secrets', 'the search itself failed; report it', cause);
}

/** What is told in pieces, which are joined as they are. */
type Spoken = Extract<AgentEvent['kind'], 'text' | 'thought'>;

const spoken: readonly Spoken[] = ['text', 'thought'];

/** What stands for what could not be redacted. */
const LEFT_OUT: AgentEvent = { kind: 'refusal', text: '[uwf left out what it could not redact]\n' };

/**
 * Takes secrets out of what an agent reports, event by event.
 *
 * A secret may lie across the pieces of what is said: of those so much is held back as may be the beginning of one. It
 * comes with a later piece, before anything else that the agent does, or where its turn or try ends.
 */
export class RedactingEvents {
  readonly #redaction: Redaction;
  readonly #streams = new Map<Spoken, ReturnType<Redaction['openStream']>>();

  constructor(redaction: Redaction) {
    this.#redaction = redaction;
  }

  hear(event: AgentEvent): AgentEvent[] {
    try {
      return this.#hear(event);
    } catch {
      this.#streams.clear();
      return [LEFT_OUT];
    }
  }

  #hear(event: AgentEvent): AgentEvent[] {
    switch (event.kind) {
      case 'text':
      case 'thought':
        return this.#said(event.kind, this.#streamOf(event.kind).write(event.text));
      case 'usage':
      case 'session':
      case 'process-group':
        return [event];
      default:
        // Text that came before a call is told before it.
        return [...this.#end(), this.#redaction.value(event)];
    }
  }

  /** Gives what was held back: nothing belongs to it any more. */
  end(): AgentEvent[] {
    return orElse(() => this.#end(), [LEFT_OUT]);
  }

  #end(): AgentEvent[] {
    return spoken.flatMap((kind) => {
      const stream = this.#streams.get(kind);
      this.#streams.delete(kind);
      return stream === undefined ? [] : this.#said(kind, stream.end());
    });
  }

  #streamOf(kind: Spoken): ReturnType<Redaction['openStream']> {
    let stream = this.#streams.get(kind);
    if (stream === undefined) this.#streams.set(kind, (stream = this.#redaction.openStream()));
    return stream;
  }

  #said(kind: Spoken, text: string): AgentEvent[] {
    return text === '' ? [] : [{ kind, text }];
  }
}
