import { isEndOfRun } from './is-end-of-run.ts';
import { eventNotice } from './event-notice.ts';
import { formatMeta } from '../output/table.ts';
import type { JournalEntry } from '../../engine/journal/journal.ts';
import type { JsonValue } from '../../json.ts';
import type { Palette } from '../output/palette.ts';
import { formatDuration, formatTime } from '../../format-time.ts';
import { fenced } from '../output/turn-markdown.ts';
import { formatUsage } from '../../agent/format-usage.ts';
import { fitTo, harmless, oneLine } from '../output/width.ts';

const MAX_ARGUMENTS = 120;

/**
 * Formats the events of a thread for people: texts as they are streamed, every other event on its own lines.
 */
export class JournalView {
  readonly #paint: Palette;
  readonly #isDetailed: boolean;
  readonly #tools = new Map<string, string>();
  /** The kind of text that is being streamed, if any. Its last line may be unfinished. */
  #speaking: 'text' | 'thought' | undefined;
  #isInLine = false;
  #turns = 0;

  /** @param isDetailed with what the model is told, and all that tools are given and give back */
  constructor(paint: Palette, isDetailed: boolean) {
    this.#paint = paint;
    this.#isDetailed = isDetailed;
  }

  /** Returns the text for an entry; '' for an entry that is not shown. */
  write(entry: JournalEntry): string {
    if (entry.event === 'agent.text') return this.#speak('text', entry.text);
    if (entry.event === 'agent.thought') return this.#speak('thought', entry.text);
    const block = this.#block(entry);
    return block === '' ? '' : `${this.#breakOff()}${block}\n\n`;
  }

  /** Ends an unfinished line, so that output on another stream begins a new one. */
  finish(): string {
    return this.#speaking !== undefined && this.#isInLine ? '\n' : '';
  }

  #speak(what: 'text' | 'thought', text: string): string {
    const shown = harmless(text);
    if (shown === '') return '';
    const before = this.#speaking === what ? '' : this.#breakOff();
    this.#speaking = what;
    this.#isInLine = !shown.endsWith('\n');
    return before + (what === 'thought' ? this.#paint.quiet(shown) : shown);
  }

  #breakOff(): string {
    const lines = this.#speaking === undefined ? '' : this.#isInLine ? '\n\n' : '\n';
    this.#speaking = undefined;
    this.#isInLine = false;
    return lines;
  }

  #block(entry: JournalEntry): string {
    const paint = this.#paint;
    switch (entry.event) {
      case 'thread.started':
        return entry.parent === null
          ? ''
          : `${nameOf(entry, paint)} ${paint.id(entry.thread)}  ${paint.name(oneLine(entry.workflow))}`;
      case 'step.started':
        this.#turns = 0;
        return `${paint.title(`# ${entry.number}. ${oneLine(entry.role)}`)}\n${paint.quiet(`${formatTime(entry.at)}  ${oneLine(entry.agent)}`)}`;
      case 'agent.turn': {
        this.#turns += 1;
        const told = harmless(entry.input).trim();
        return this.#isDetailed ? `${paint.title(`## Turn ${this.#turns}`)}\n\n${told}` : '';
      }
      case 'agent.turn-ended':
        return this.#isDetailed && entry.usage ? paint.quiet(`(${formatUsage(entry.usage)})`) : '';
      case 'agent.plan':
        return `${paint.title('plan')}\n${harmless(entry.text).trim()}`;
      case 'agent.refusal':
        return paint.warning(`kept from something: ${oneLine(entry.text)}`);
      case 'agent.tool':
        return this.#call(entry.id, entry.name, entry.arguments);
      case 'agent.result':
        return this.#result(entry);
      case 'journal.skipped':
        return paint.quiet(`(${entry.lines} more came than can be shown)`);
      case 'step.finished': {
        const facts = [entry.outcome ?? 'done', formatDuration(entry.durationMs), formatUsage(entry.usage), entry.step];
        return paint.quiet(`(${facts.filter(Boolean).join(', ')})`);
      }
      default:
        if (!isEndOfRun(entry)) return eventNotice(entry, paint) ?? '';
        return `thread ${entry.status}${entry.text.trim() === '' ? '' : `: ${oneLine(entry.text)}`}`;
    }
  }

  #call(id: string, name: string, given: JsonValue): string {
    this.#tools.set(id, oneLine(name));
    const tool = `[${this.#paint.name(oneLine(name))}]`;
    const text = typeof given === 'string' ? given : JSON.stringify(given, null, this.#isDetailed ? 2 : 0);
    return this.#isDetailed
      ? `${tool}\n${fenced(text)}`
      : `${tool} ${this.#paint.quiet(fitTo(oneLine(text), MAX_ARGUMENTS))}`;
  }

  #result(entry: Extract<JournalEntry, { event: 'agent.result' }>): string {
    const tool = this.#tools.get(entry.id) ?? 'tool';
    this.#tools.delete(entry.id);
    const outcome = entry.isError === true ? this.#paint.error('failed') : 'gave';
    const took = this.#paint.quiet(`(${formatDuration(entry.durationMs)})`);
    if (this.#isDetailed) return `[${tool}] ${outcome} ${took}\n${fenced(entry.result)}`;
    return entry.isError === true ? `[${tool}] ${outcome}: ${fitTo(oneLine(entry.result), MAX_ARGUMENTS)}` : '';
  }
}

function nameOf({ branch }: Extract<JournalEntry, { event: 'thread.started' }>, paint: Palette): string {
  return branch === undefined ? 'child thread' : `branch ${paint.title(oneLine(branch.key))}: thread`;
}

/** A debug line: `12:00:00.123 decision role: coder, rule: 2`. */
export function debugLine({ at, event, ...facts }: JournalEntry, paint: Palette): string {
  const time = new Date(at).toISOString().slice(11, 23);
  const { thread: _thread, ...rest } = facts;
  const isDebug = 'about' in rest;
  const shown = isDebug ? rest.facts : rest;
  const text = formatMeta(shown).replaceAll('\n', ', ');
  return `${paint.quiet(time)} ${paint.name(isDebug ? rest.about : event)} ${fitTo(text, 400)}`.trimEnd();
}
