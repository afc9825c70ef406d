import { formatUsage } from '../../agent/format-usage.ts';
import type { EngineEvent, SlotHolder, ThreadOver } from '../../engine/events.ts';
import type { JournalEntry } from '../../engine/journal/journal.ts';
import { formatDuration, formatTime } from '../../text/wording.ts';
import { describeMissing, describeOutside } from '../../git/format/paths.ts';
import type { JsonValue } from '../../json.ts';
import { fitTo, harmless, oneLine, type Palette, widthOf } from '../output/text.ts';
import { redactedLine } from '../output/findings.ts';
import { formatMeta } from '../output/table.ts';
import { fenced } from '../output/markdown.ts';

// What the engine tells becomes text here. The words for an event stand once, in `wordsFor`. The styles lay them out, and say
// what only they tell: the story of a run, the journal of a thread, its debug lines, and the log of a worker.

const overs: ReadonlySet<string> = new Set(['thread.ended', 'thread.failed', 'thread.cancelled', 'thread.suspended']);

export function isEndOfRun(event: { event: string }): event is ThreadOver {
  return overs.has(event.event);
}

/** The words for an event of a thread that is called `name`; `undefined` for one that not every style tells. */
function wordsFor(event: EngineEvent | JournalEntry, paint: Palette, name: string): string | undefined {
  switch (event.event) {
    case 'thread.started':
      return `${name} ${paint.id(event.thread)}  ${paint.name(oneLine(event.workflow))}`;
    case 'thread.ended':
    case 'thread.failed':
    case 'thread.cancelled':
    case 'thread.suspended': {
      const text = oneLine(event.text);
      return `${name} ${event.status}${text === '' ? '' : `: ${text}`}`;
    }
    case 'thread.waiting': {
      return `${paint.warning('waiting')} until fewer than ${event.limit} threads work: ${nameAll(paint, event.holders)}`;
    }
    case 'work-tree.shared': {
      const remedy = "'uwf run --isolate' gives a run a work tree of its own, 'isolation: shared' allows this";
      return `${paint.warning('shared work tree')} with ${nameAll(paint, event.others)}; ${remedy}`;
    }
    case 'limits.unkept':
      return `${paint.warning('no limit')}: ${oneLine(event.text)}; ${oneLine(event.hint)}`;
    case 'thread.compacted': {
      const by = event.agent === null ? '' : ` by ${paint.name(event.agent)}`;
      return `${paint.quiet('summed up')} ${event.steps} steps${by} in ${event.characters} characters`;
    }
    case 'thread.not-compacted':
      return `${paint.warning('not summed up')}: ${oneLine(event.reason)}`;
    case 'reply.refused': {
      const next = event.isLast ? 'not asked again' : 'asking again';
      const errors = event.errors.map(oneLine).join('; ');
      return `${paint.warning('not accepted')} from ${paint.name(event.role)}, ${next}: ${errors}`;
    }
    case 'secrets.redacted':
      return paint.warning(redactedLine(event.rules, event.role === null ? 'what was given' : paint.name(event.role)));
    case 'reply.stored': {
      const where = event.fork === null ? '' : ` as thread ${paint.id(event.fork)}`;
      return `${paint.quiet('stored')} the reply of ${paint.name(event.role)} that was kept${where}`;
    }
    case 'main.changed':
      return paint.warning(oneLine(describeOutside(event.role, event)));
    case 'work-tree.incomplete':
      return `${paint.warning('not copied')} into the work tree: ${oneLine(describeMissing(event.missing))}`;
    case 'snapshot.shortened':
      return `${paint.warning('not recorded')} of what ${paint.name(event.role)} left: ${oneLine(event.reason)}`;
    case 'agent.pause': {
      const took = formatDuration(event.durationMs);
      return `${paint.warning('waiting')} ${took} before ${paint.name(event.role)} goes on: ${oneLine(event.text)}`;
    }
    case 'child.left':
      return `${paint.warning('left')} child thread ${paint.id(event.child)} (${event.status}): no later try asked for it`;
    default:
      return undefined;
  }
}

function nameAll(paint: Palette, holders: readonly SlotHolder[]): string {
  return holders.map(({ thread, pid }) => `${paint.id(thread)} (process ${pid})`).join(', ');
}

function nameOfBranch(keys: string, paint: Palette): string {
  return `branch ${paint.title(oneLine(keys))}`;
}

/** So many branches of one block have lines of their own on a terminal; of the others only those that fail or wait. */
const MAX_TOLD_BRANCHES = 20;

/** Where the lines of a thread stand in the story of a run. */
type Place = {
  /** How many threads are above it. */
  depth: number;
  /** The keys of the branches that it is in, from the outermost; '' for a thread in none. */
  keys: string;
  /** True for the branches of a block beyond those that have lines of their own, and for what is below them. */
  isFolded: boolean;
};

/**
 * The story of a run: a line for each event that a person should know. Child threads are indented below the step that called
 * them, and lines of branches, which come in between each other, begin with the branch's key. The result of the requested
 * thread is printed by the command.
 */
export class RunStory {
  readonly #paint: Palette;
  readonly #columns: number;
  #asked: string | undefined;
  #isAskedOver = false;
  readonly #places = new Map<string, Place>();
  /** How many branches the turn that a caller is in has begun. */
  readonly #begun = new Map<string, number>();
  /** Threads whose agent has started and said nothing yet. */
  readonly #starting = new Set<string>();

  /** Without `columns`, lines are not cut, and no branch is left out. `asked` is, by default, the first thread that is heard of. */
  constructor(paint: Palette, columns?: number, asked?: string) {
    this.#paint = paint;
    this.#columns = columns ?? Infinity;
    this.#asked = asked;
  }

  /** The line for an event, to be called for each in their order; `undefined` for one that only the live line shows. */
  lineFor(event: EngineEvent): string | undefined {
    const { thread } = event;
    this.#asked ??= thread;
    const place = this.#places.get(thread) ?? this.#placeOf(event);
    this.#places.set(thread, place);
    if (event.event === 'step.finished') this.#begun.delete(thread);
    if (thread === this.#asked && isEndOfRun(event)) this.#isAskedOver = true;
    if (event.event === 'step.started') this.#starting.add(thread);
    else if (event.event !== 'agent.refusal') this.#starting.delete(thread);
    const line = isEndOfRun(event) ? this.#end(event, place) : place.isFolded ? undefined : this.#line(event, place);
    return line === undefined ? undefined : '    '.repeat(place.depth) + line;
  }

  #placeOf(event: EngineEvent): Place {
    const { parent = null, branch } = 'parent' in event ? event : {};
    const caller = parent === null ? undefined : this.#places.get(parent);
    // A thread that is continued sends no start event. Before the end of the requested thread it is a child of it, which
    // runs first; afterwards it is the caller.
    const isAsked = event.thread === this.#asked;
    const isBelow = caller !== undefined || (!isAsked && (parent !== null || !this.#isAskedOver));
    const keys = [caller?.keys ?? '', branch?.key ?? ''].filter((key) => key !== '').join('/');
    const isFolded = caller?.isFolded === true || (parent !== null && branch !== undefined && this.#isBeyond(parent));
    return { depth: isBelow ? (caller?.depth ?? 0) + 1 : 0, keys, isFolded };
  }

  #isBeyond(caller: string): boolean {
    const begun = (this.#begun.get(caller) ?? 0) + 1;
    this.#begun.set(caller, begun);
    return this.#columns !== Infinity && begun > MAX_TOLD_BRANCHES;
  }

  #end(event: ThreadOver, { depth, keys, isFolded }: Place): string | undefined {
    if (event.thread === this.#asked || (isFolded && event.event === 'thread.ended')) return undefined;
    const own = depth > 0 ? 'child thread' : `thread ${this.#paint.id(event.thread)}`;
    return wordsFor(event, this.#paint, keys === '' ? own : nameOfBranch(keys, this.#paint));
  }

  #line(event: EngineEvent, { depth, keys }: Place): string | undefined {
    const paint = this.#paint;
    const whose = keys === '' ? '' : `${paint.title(oneLine(keys))} `;
    switch (event.event) {
      case 'thread.started': {
        const own = depth > 0 ? 'child thread' : 'thread';
        return wordsFor(event, paint, keys === '' ? own : `${nameOfBranch(keys, paint)}: thread`);
      }
      case 'branch.continued':
        return `${nameOfBranch(keys, paint)} continues: thread ${paint.id(event.thread)}`;
      case 'step.finished': {
        const number = String(event.number).padStart(3);
        const outcome = event.outcome === null ? '' : ` ${paint.title(oneLine(event.outcome))}`;
        const took = paint.quiet(`(${formatDuration(event.durationMs)})`);
        const subject = oneLine(event.subject);
        const before = `${whose}${paint.quiet(number)}  ${paint.name(event.role)}${outcome}`;
        const room = this.#columns - widthOf(before) - 4 * depth - widthOf(took) - 3;
        const said = subject === '' || subject === event.outcome ? '' : `: ${fitTo(subject, Math.max(room, 10))}`;
        return `${before}${said} ${took}`;
      }
      case 'agent.refusal':
        // A refusal before the first word of an agent is a mistake in its configuration. A later one is in the trace.
        if (!this.#starting.has(event.thread)) return undefined;
        return `${whose}     ${paint.warning('not given')} to ${paint.name(event.role)}: ${oneLine(event.text)}`;
      default: {
        const words = wordsFor(event, paint, 'thread');
        const margin = event.event === 'thread.waiting' || event.event === 'work-tree.shared' ? '' : '     ';
        return words === undefined ? undefined : `${whose}${margin}${words}`;
      }
    }
  }
}

const MAX_ARGUMENTS = 120;

/** The journal of a thread: texts as they are streamed, every other event on its own lines. */
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
    return this.#isInLine ? '\n' : '';
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
      case 'thread.started': {
        if (entry.parent === null) return '';
        const { branch } = entry;
        const name = branch === undefined ? 'child thread' : `${nameOfBranch(branch.key, paint)}: thread`;
        return wordsFor(entry, paint, name) ?? '';
      }
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
        return wordsFor(entry, paint, 'thread') ?? '';
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

/** A debug line: `12:00:00.123 decision role: coder, rule: 2`. */
export function debugLine({ at, event, ...facts }: JournalEntry, paint: Palette): string {
  const time = new Date(at).toISOString().slice(11, 23);
  const { thread: _thread, ...rest } = facts;
  const isDebug = 'about' in rest;
  const shown = isDebug ? rest.facts : rest;
  const text = formatMeta(shown).replaceAll('\n', ', ');
  return `${paint.quiet(time)} ${paint.name(isDebug ? rest.about : event)} ${fitTo(text, 400)}`.trimEnd();
}

/** The line of a worker's log for people; `undefined` for what is no beginning or end of a turn. */
export function logLine(event: EngineEvent): string | undefined {
  if (event.event === 'step.started') return `${event.thread} ${event.role}`;
  return event.event === 'step.finished' ? `${event.thread} ${event.role}: ${event.outcome ?? 'done'}` : undefined;
}
