import type { ThreadView } from '../../engine/describe/describe.ts';
import type { JournalEntry } from '../../engine/journal/journal.ts';
import { type JournalPlace, openJournal, unfinishedTurn } from '../../engine/journal/read-journal.ts';
import type { Repository } from '../../git/repository.ts';

/** The turn that goes on, or that was cut off, as far as this machine's journal has it. */
export type RunningTurn = {
  role: string;
  agent: string;
  number: number;
  /** In ms since 1970. */
  startedAtMs: number;
  parts: TurnPart[];
};

/** Longer results of tools and inputs are cut: a page is no place for a megabyte. */
const MAX_TOOL_LENGTH = 4_000;
/** A page has so much of a turn, its end; the rest is in the trace when the turn is stored. */
const MAX_TURN_LENGTH = 200_000;

/** What is known of a thread without its journal. */
type Known = Pick<ThreadView, 'thread' | 'steps' | 'nextRole' | 'holder'>;

/** Reads the turn that goes on, if any, and the place in the journal up to which it was read. */
export function readRunningTurn(
  repository: Repository,
  known: Known,
): { turn: RunningTurn | undefined; place: JournalPlace | undefined } {
  const journal = openJournal(repository, known.thread);
  try {
    const entries = journal.next();
    return { turn: turnIn(unfinishedTurn(entries)) ?? turnWithoutStart(entries, known), place: journal.place() };
  } finally {
    journal.close();
  }
}

function turnIn([start, ...entries]: readonly JournalEntry[]): RunningTurn | undefined {
  if (start?.event !== 'step.started') return undefined;
  const { role, agent, number, at: startedAtMs } = start;
  return { role, agent, number, startedAtMs, parts: newest(partsOf(entries)) };
}

/** A turn whose output is so long that the journal no longer has its start. */
function turnWithoutStart(
  entries: readonly JournalEntry[],
  { steps, nextRole, holder }: Known,
): RunningTurn | undefined {
  const [first] = entries;
  const parts = partsOf(entries);
  if (first === undefined || holder === null || entries.some(isTurning) || parts.length === 0) return undefined;
  const number = steps + 1;
  return { role: nextRole ?? '', agent: '', number, startedAtMs: first.at, parts: newest([beginningGone, ...parts]) };
}

const beginningGone: TurnPart = { kind: 'notice', text: 'the beginning of this turn is left out' };

/** Tells whether an entry says that a turn begins or ends, or that the thread does. */
export function isTurning({ event }: JournalEntry): boolean {
  return event === 'step.started' || event === 'step.finished' || /^thread\.(?!waiting)/.test(event);
}

function partsOf(entries: readonly JournalEntry[]): TurnPart[] {
  const parts: TurnPart[] = [];
  for (const entry of entries) addPart(parts, partOf(entry));
  return parts;
}

/** What an entry of the journal adds to a turn; `undefined` for what a person need not see. */
export function partOf(entry: JournalEntry): TurnPart | undefined {
  switch (entry.event) {
    case 'agent.text':
      return { kind: 'text', text: entry.text };
    case 'agent.thought':
      return { kind: 'thought', text: entry.text };
    case 'agent.plan':
      return { kind: 'plan', text: entry.text };
    case 'agent.tool':
      return { kind: 'tool', text: cut(`${entry.name} ${JSON.stringify(entry.arguments)}`) };
    case 'agent.result':
      return { kind: entry.isError ? 'error' : 'result', text: cut(entry.result) };
    case 'agent.refusal':
      return { kind: 'notice', text: `not given: ${entry.text}` };
    case 'agent.pause':
      return { kind: 'notice', text: `waits: ${entry.text}` };
    case 'limits.unkept':
      return { kind: 'notice', text: `no limit: ${entry.text}; ${entry.hint}` };
    case 'reply.refused':
      return { kind: 'notice', text: `reply ${entry.attempt} was not accepted: ${entry.errors.join('; ')}` };
    case 'journal.skipped':
      return { kind: 'notice', text: `${entry.lines} lines came too fast and are not shown` };
    default:
      return undefined;
  }
}

/** Appends a part, or continues the last one if that is the same speech. */
export function addPart(parts: TurnPart[], part: TurnPart | undefined): void {
  if (part === undefined) return;
  const last = parts.at(-1);
  if (last?.kind === part.kind && (part.kind === 'text' || part.kind === 'thought')) last.text += part.text;
  else parts.push({ ...part });
}

function cut(text: string): string {
  return text.length <= MAX_TOOL_LENGTH ? text : `${text.slice(0, MAX_TOOL_LENGTH)} …`;
}

/** The end of a turn that is too long for a page. */
function newest(parts: TurnPart[]): TurnPart[] {
  let length = 0;
  const first = parts.findLastIndex(({ text }) => {
    length += text.length;
    return length > MAX_TURN_LENGTH;
  });
  if (first === -1) return parts;
  const cutPart = parts[first];
  const rest = parts.slice(first + 1);
  const kept = cutPart && { ...cutPart, text: cutPart.text.slice(length - MAX_TURN_LENGTH) };
  return [beginningGone, ...(kept ? [kept] : []), ...rest];
}

/** A part of what an agent does in a turn. What it says or thinks in one go is one part. */
export type TurnPart = {
  kind: 'text' | 'thought' | 'plan' | 'tool' | 'result' | 'error' | 'notice';
  text: string;
};

/** What the server tells a browser. The browser loads a page again to see a new state. */
export type LiveEvent =
  | { event: 'state'; topic: string; state: string }
  /** What was said in the turn that goes on, between two places of the thread's journal. */
  | { event: 'words'; thread: string; from: string; place: string; parts: TurnPart[] }
  /** A turn has begun or ended, or a part of the journal is gone. */
  | { event: 'turn'; thread: string };
