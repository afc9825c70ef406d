import type { AgentEvent } from '../../agent/contract.ts';
import type { Redaction } from './redaction.ts';
import { orElse } from '../../or-else.ts';

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
