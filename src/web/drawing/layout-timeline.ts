import { formatDuration } from '../../format-time.ts';
import { addUsage, type Usage } from '../../schema/built-in/schema-parts.ts';
import type { Span } from './read-spans.ts';
import { textWidth } from './text-width.ts';

/** A row: a role, or children that it called one after the other. */
export type TimelineLane = { name: string; isOfChildren: boolean; usage: Usage | null; bars: TimelineBar[] };
type TimelineBar = { span: Span; x: number; width: number };

/** Spans with places on one line of time, in which time without work takes little room. */
export type TimelineDrawing = {
  width: number;
  lanes: TimelineLane[];
  /** Time in which no role and no child worked. */
  gaps: { x: number; width: number; label: string }[];
  workedMs: number;
  idleMs: number;
};

/** All work, with the gaps that have no name, is about so wide. */
const WORK_WIDTH = 560;
const MIN_PART_WIDTH = 16;
const MIN_GAP_WIDTH = 3;
/** A gap is named if it is longer than this, and than this part of all work. */
const NAMED_GAP_MS = 5_000;
const NAMED_GAP_PART = 0.05;

/** Lays out spans, which are in the order of their beginnings. */
export function layoutTimeline(given: readonly Span[]): TimelineDrawing {
  // What took no time is to be seen as well.
  const spans = given.map((span) => ({ span, fromMs: span.fromMs, untilMs: Math.max(span.untilMs, span.fromMs + 1) }));
  const times = [...new Set(spans.flatMap(({ fromMs, untilMs }) => [fromMs, untilMs]))].toSorted((a, b) => a - b);
  const isWorkedFrom = workedParts(spans, times);
  const parts = times.slice(0, -1).map((fromMs, index) => {
    return { fromMs, lengthMs: (times[index + 1] ?? fromMs) - fromMs, isWork: isWorkedFrom.has(fromMs) };
  });
  const sum = (isWork: boolean): number =>
    parts.reduce((total, part) => total + (part.isWork === isWork ? part.lengthMs : 0), 0);
  const [workedMs, idleMs] = [sum(true), sum(false)];
  const isNamedGap = ({ lengthMs, isWork }: (typeof parts)[number]): boolean =>
    !isWork && lengthMs > Math.max(NAMED_GAP_MS, workedMs * NAMED_GAP_PART);
  const drawnMs = parts.reduce((total, part) => total + (isNamedGap(part) ? 0 : part.lengthMs), 0);
  const places = new Map<number, number>();
  const gaps: TimelineDrawing['gaps'] = [];
  let x = 0;
  for (const part of parts) {
    const { fromMs, lengthMs, isWork } = part;
    places.set(fromMs, x);
    const linear = (lengthMs / Math.max(drawnMs, 1)) * WORK_WIDTH;
    const isNamed = isNamedGap(part);
    const label = formatDuration(lengthMs);
    const named = textWidth(label, 12) + 16;
    const width = isNamed ? named : Math.max(isWork ? MIN_PART_WIDTH : MIN_GAP_WIDTH, linear);
    if (isNamed) gaps.push({ x: Math.round(x), width: named, label });
    x += width;
  }
  places.set(times.at(-1) ?? 0, x);
  const bars = spans.map(({ span, fromMs, untilMs }) => {
    const left = places.get(fromMs) ?? 0;
    return { span, x: Math.round(left), width: Math.max(Math.round((places.get(untilMs) ?? 0) - left) - 1, 1) };
  });
  return { width: Math.ceil(x), lanes: lanesOf(bars), gaps, workedMs, idleMs };
}

/** The moments from which a role or a child works until the next one. */
function workedParts(
  spans: readonly { span: Span; fromMs: number; untilMs: number }[],
  times: readonly number[],
): Set<number> {
  const changes = new Map<number, number>();
  const change = (timeMs: number, by: number): void => void changes.set(timeMs, (changes.get(timeMs) ?? 0) + by);
  for (const { span, fromMs, untilMs } of spans) {
    // While a thread waits, so do the children that it called: what they wait for is what it waits for.
    const workers = span.kind === 'wait' ? -spans.length : 1;
    change(fromMs, workers);
    change(untilMs, -workers);
  }
  const worked = new Set<number>();
  let workers = 0;
  for (const timeMs of times) {
    workers += changes.get(timeMs) ?? 0;
    if (workers > 0) worked.add(timeMs);
  }
  return worked;
}

/** A row for each role, and below it as many rows for its children as worked at once. */
function lanesOf(bars: readonly TimelineBar[]): TimelineLane[] {
  const roles = new Map<string, TimelineLane[]>();
  for (const bar of bars) {
    const { span } = bar;
    const lanes = roles.get(span.role) ?? [{ name: span.role, isOfChildren: false, usage: null, bars: [] }];
    roles.set(span.role, lanes);
    const isFree = ({ bars: others }: TimelineLane): boolean => (others.at(-1)?.span.untilMs ?? 0) <= span.fromMs;
    let lane = span.kind === 'child' ? lanes.find((each) => each.isOfChildren && isFree(each)) : lanes[0];
    if (lane === undefined) {
      lane = { name: span.role, isOfChildren: true, usage: null, bars: [] };
      lanes.push(lane);
    }
    lane.bars.push(bar);
    lane.usage = addUsage(lane.usage, span.usage);
  }
  return [...roles.values()].flat();
}
