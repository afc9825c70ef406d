import type { JournalEntry } from '../../engine/journal.ts';
import type { JsonValue } from '../../json.ts';
import { formatMeta } from './meta.ts';
import type { Palette } from './palette.ts';
import { formatDuration, formatTime } from './time.ts';
import { fenced } from './turn-markdown.ts';
import { formatUsage } from './usage.ts';
import { fitTo, harmless, oneLine } from './width.ts';

const MAX_ARGUMENTS = 120;

/**
 * Writes what happens on a thread as it comes, for people: texts as they are spoken, and everything else in lines of its
 * own.
 */
export class JournalView {
  readonly #paint: Palette;
  readonly #isDetailed: boolean;
  readonly #tools = new Map<string, string>();
  /** What is being spoken: nothing, or a text or thought whose line may not be finished. */
  #speaking: 'text' | 'thought' | undefined;
  #isInLine = false;
  #turns = 0;

  /** @param isDetailed with what the model is told, and all that tools are given and give back */
  constructor(paint: Palette, isDetailed: boolean) {
    this.#paint = paint;
    this.#isDetailed = isDetailed;
  }

  /** What is to be written for an entry, as it is; '' for one that nothing is said of. */
  write(entry: JournalEntry): string {
    if (entry.event === 'agent.text') return this.#speak('text', entry.text);
    if (entry.event === 'agent.thought') return this.#speak('thought', entry.text);
    const block = this.#block(entry);
    return block === '' ? '' : `${this.#breakOff()}${block}\n\n`;
  }

  /** Ends the line that the last text has begun: what comes after it, on another stream, begins its own. */
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
          : `child thread ${paint.id(entry.thread)}  ${paint.name(oneLine(entry.workflow))}`;
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
      case 'agent.pause':
        return paint.warning(`waiting ${formatDuration(entry.durationMs)}: ${oneLine(entry.text)}`);
      case 'agent.tool':
        return this.#call(entry.id, entry.name, entry.arguments);
      case 'agent.result':
        return this.#result(entry);
      case 'reply.refused':
        return paint.warning(`not accepted: ${entry.errors.map(oneLine).join('; ')}`);
      case 'secrets.redacted':
        return paint.warning(`redacted: ${Object.keys(entry.rules).join(', ')}`);
      case 'reply.stored':
        return paint.quiet(`(stored the reply of ${oneLine(entry.role)} that was kept)`);
      case 'snapshot.shortened':
        return paint.warning(`not recorded of its files: ${oneLine(entry.reason)}`);
      case 'child.left':
        return paint.warning(`child thread ${entry.child} (${entry.status}) is left: no later try asked for it`);
      case 'journal.skipped':
        return paint.quiet(`(${entry.lines} more came than can be shown)`);
      case 'thread.waiting':
        return paint.quiet(`(waiting until fewer than ${entry.limit} threads work)`);
      case 'step.finished': {
        const facts = [entry.outcome ?? 'done', formatDuration(entry.durationMs), formatUsage(entry.usage), entry.step];
        return paint.quiet(`(${facts.filter(Boolean).join(', ')})`);
      }
      case 'thread.suspended':
      case 'thread.ended':
      case 'thread.failed':
      case 'thread.cancelled':
        return `thread ${entry.status}${entry.text.trim() === '' ? '' : `: ${oneLine(entry.text)}`}`;
      default:
        return '';
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

/** A line for those who look for a fault: `12:00:00.123 decision role: coder, rule: 2`. */
export function debugLine({ at, event, ...facts }: JournalEntry, paint: Palette): string {
  const time = new Date(at).toISOString().slice(11, 23);
  const { thread: _thread, ...rest } = facts;
  const isDebug = 'about' in rest;
  const shown = isDebug ? rest.facts : rest;
  const text = formatMeta(shown).replaceAll('\n', ', ');
  return `${paint.quiet(time)} ${paint.name(isDebug ? rest.about : event)} ${fitTo(text, 400)}`.trimEnd();
}
