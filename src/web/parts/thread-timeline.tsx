import type { NodeHash } from '../../cas/hash.ts';
import { describeThread, ownKey, type ThreadView } from '../../engine/describe/describe.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { addUsage, type Usage } from '../../schema/built-in/schema-parts.ts';
import { formatCount, formatDuration, formatTime, plural } from '../../text/wording.ts';
import { type LightCommit, readLightChain } from '../../thread/thread-chain.ts';
import { timeOfCommit } from '../../thread/thread-commit.ts';
import { nothingForDataError } from '../../thread/thread-errors.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { readRunningTurn } from '../live/running-turn.ts';
import type { Visit } from '../site.ts';
import { addressOfView, DataTable, type Html, PageLink } from './page.tsx';

type TimelineProps = {
  visit: Visit;
  view: ThreadView;
  limit: number;
  /** Only what was before the step of this number. */
  before: number | undefined;
  /** The commit from which that is read. */
  from: ObjectId;
};

/** More entries are shown in a table only. */
const MAX_DRAWN = 300;
const LANE_HEIGHT = 48;
const HEAD_HEIGHT = 24;
const BAR_HEIGHT = 26;

/** When the roles of a thread worked: a row for each, children below their callers, long waits made short. */
export async function ThreadTimeline({ visit, view, limit, before, from }: TimelineProps): Promise<Awaited<Html>> {
  const { spans, othersOfChildren } = await readSpans(visit.site.engine, view, {
    limit,
    before,
    from,
    nowMs: visit.nowMs,
  });
  const first = spans.find(({ kind }) => kind === 'step');
  const earlier = first?.kind === 'step' && first.number > 1 ? first.number : undefined;
  const hrefOf = (span: Span): string => addressOf(view, span, before);
  const drawing = spans.length === 0 || spans.length > MAX_DRAWN ? undefined : layoutTimeline(spans);
  const table = <SpanTable spans={spans} hrefOf={hrefOf} />;
  return (
    <section aria-labelledby="timeline-title">
      <h2 id="timeline-title">Who worked when</h2>
      {earlier !== undefined && (
        <p>
          <PageLink href={addressOfView(view.thread, 'timeline', earlier)}>Earlier steps</PageLink>
        </p>
      )}
      {spans.length === 0 && <p>No role has worked yet.</p>}
      {othersOfChildren > 0 && (
        <p class="quiet">
          {plural(othersOfChildren, 'older child thread')} of these steps {othersOfChildren === 1 ? 'is' : 'are'} not
          shown here; the list above has all.
        </p>
      )}
      {drawing && (
        <>
          <p class="quiet">{summaryOf(spans, drawing)}</p>
          <Picture drawing={drawing} hrefOf={hrefOf} />
          <details class="as-table">
            <summary>The timeline as a table</summary>
            {table}
          </details>
        </>
      )}
      {spans.length > MAX_DRAWN && table}
      {before !== undefined && (
        <p>
          <PageLink href={addressOfView(view.thread, 'timeline')}>Newest steps</PageLink>
        </p>
      )}
    </section>
  );
}

function summaryOf(spans: readonly Span[], { workedMs, idleMs }: TimelineDrawing): string {
  const from = Math.min(...spans.map(({ fromMs }) => fromMs));
  const idle = idleMs === 0 ? '' : `; nobody worked for ${formatDuration(idleMs)}`;
  return `From ${formatTime(from)}: ${formatDuration(workedMs)} of work${idle}.`;
}

/** Where a bar leads: a step, the place of a suspension in the story, a child. */
function addressOf({ thread }: ThreadView, span: Span, before: number | undefined): string {
  switch (span.kind) {
    case 'step':
      return `/t/${thread}/${span.step}`;
    case 'turn':
      return `${addressOfView(thread, 'story')}#turn`;
    case 'wait':
      return `${addressOfView(thread, 'story', before)}#${span.suspension}`;
    case 'child':
      return `/t/${span.thread}`;
  }
}

type PictureProps = { drawing: TimelineDrawing; hrefOf: (span: Span) => string };

function Picture({ drawing, hrefOf }: PictureProps): Html {
  const { width, lanes, gaps } = drawing;
  const height = HEAD_HEIGHT + lanes.length * LANE_HEIGHT;
  return (
    <div class="timeline">
      <ul aria-label="Rows">
        {lanes.map((lane) => (
          <li {...(lane.isOfChildren && { class: 'of-children' })}>
            <strong>{nameOfLane(lane)}</strong>
            <span class="quiet">{spentText(lane.usage)}</span>
          </li>
        ))}
      </ul>
      <div class="drawing">
        <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="group" aria-label="Timeline">
          {gaps.map((gap) => (
            <g class="gap">
              <rect x={gap.x} y={0} width={gap.width} height={height} />
              <text x={gap.x + gap.width / 2} y={16} text-anchor="middle">
                {gap.label}
              </text>
            </g>
          ))}
          {lanes.map((lane, index) => (
            <Lane lane={lane} top={HEAD_HEIGHT + index * LANE_HEIGHT} width={width} hrefOf={hrefOf} />
          ))}
        </svg>
      </div>
    </div>
  );
}

type LaneProps = { lane: TimelineLane; top: number; width: number; hrefOf: (span: Span) => string };

function Lane({ lane, top, width, hrefOf }: LaneProps): Html {
  const y = top + (LANE_HEIGHT - BAR_HEIGHT) / 2;
  return (
    <g>
      <line class="lane" x1={0} x2={width} y1={top} y2={top} />
      {lane.bars.map(({ span, ...bar }) => {
        const text = barText(span);
        const hasRoom = textWidth(text, 12) + 4 <= bar.width;
        return (
          <PageLink href={hrefOf(span)} class={`bar ${span.kind}${span.isOpen ? ' open' : ''}`}>
            <title>
              {[nameOf(span), `${formatTime(span.fromMs)}, ${tookText(span)}`, spentText(span.usage)].join('\n')}
            </title>
            <rect x={bar.x} y={y} width={bar.width} height={BAR_HEIGHT} rx={4} />
            {hasRoom && (
              <text x={bar.x + bar.width / 2} y={y + 17} text-anchor="middle">
                {text}
              </text>
            )}
          </PageLink>
        );
      })}
    </g>
  );
}

function nameOfLane({ name, isOfChildren, bars }: TimelineLane): string {
  return isOfChildren ? plural(bars.length, 'child thread') : name;
}

function barText(span: Span): string {
  if (span.kind === 'wait') return span.isOpen ? 'waits' : 'waited';
  return span.kind === 'child' ? span.key || span.workflow : String(span.number);
}

function nameOf(span: Span): string {
  switch (span.kind) {
    case 'step':
      return `${span.number}. ${span.role}`;
    case 'turn':
      return `${span.number}. ${span.role}, at work`;
    case 'wait':
      return `${span.role} ${span.isOpen ? 'waits' : 'waited'}: ${span.reason}`;
    case 'child':
      return `${span.workflow}, called by ${span.role}`;
  }
}

function tookText({ fromMs, untilMs, isOpen }: Span): string {
  return `${formatDuration(untilMs - fromMs)}${isOpen ? ' so far' : ''}`;
}

/** `12,345 tokens, $0.0123`; '' where it is not known. */
function spentText(usage: Usage | null): string {
  return [tokensText(usage), costText(usage)].filter((part) => part !== '').join(', ');
}

function tokensText(usage: Usage | null): string {
  if (usage === null) return '';
  const count = usage.inputTokens + usage.outputTokens;
  return usage.isAtLeast && count === 0 ? 'tokens unknown' : `${formatCount(count)} tokens`;
}

function costText(usage: Usage | null): string {
  return usage?.costUsd === undefined ? '' : `$${usage.costUsd.toFixed(4)}`;
}

function SpanTable({ spans, hrefOf }: { spans: readonly Span[]; hrefOf: (span: Span) => string }): Html {
  return (
    <DataTable columns={['What', 'From', 'Took', 'Tokens', 'Cost']}>
      {spans.map((span) => (
        <tr>
          <th scope="row">
            <PageLink href={hrefOf(span)}>{nameOf(span)}</PageLink>
          </th>
          <td>{formatTime(span.fromMs)}</td>
          <td class="number">{tookText(span)}</td>
          <td class="number">{tokensText(span.usage)}</td>
          <td class="number">{costText(span.usage)}</td>
        </tr>
      ))}
    </DataTable>
  );
}

/** A row: a role, or children that it called one after the other. */
type TimelineLane = { name: string; isOfChildren: boolean; usage: Usage | null; bars: TimelineBar[] };
type TimelineBar = { span: Span; x: number; width: number };

/** Spans with places on one line of time, in which time without work takes little room. */
type TimelineDrawing = {
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

/** What went on in a thread from one moment to another, in ms since 1970. */
export type Span = {
  /** The role that worked, waited, or called the child. */
  role: string;
  fromMs: number;
  untilMs: number;
  /** It goes on; `untilMs` is now. */
  isOpen: boolean;
  /** Of a child, its own steps; null where it is not known. */
  usage: Usage | null;
} & (
  | { kind: 'step'; number: number; step: NodeHash }
  | { kind: 'turn'; number: number }
  | { kind: 'wait'; suspension: NodeHash; reason: string }
  | { kind: 'child'; thread: ThreadId; workflow: string; key: string }
);

/** More children than this are not looked up for one page. */
const MAX_CHILDREN = 100;

type SpanOptions = { limit: number; before?: number | undefined; from: ObjectId; nowMs: number };

/**
 * Reads what went on in a thread, in the order in which it began: its steps, and what waited and which children worked between
 * them. It reads at most `limit` steps, from the commit `from` back, and tells how many of their children are left out.
 */
export async function readSpans(
  engine: EngineContext,
  view: ThreadView,
  { limit, before = Infinity, from, nowMs }: SpanOptions,
): Promise<{ spans: Span[]; othersOfChildren: number }> {
  const commits: LightCommit[] = [];
  let steps = 0;
  for await (const commit of readLightChain(engine.repository, from)) {
    if (commit.kind !== 'step') commits.push(commit);
    else if (commit.node.number >= before) commits.length = 0;
    else {
      commits.push(commit);
      steps += 1;
      if (steps >= limit) break;
    }
  }
  const own = commits.toReversed().flatMap((commit, index, all) => spanOf(commit, all[index + 1], nowMs));
  const shown = new Set<NodeHash>(own.flatMap((span) => (span.kind === 'step' ? [span.step] : [])));
  const isNewest = before === Infinity;
  const calls = view.calls.filter(({ step }) => (step === null ? isNewest : shown.has(step)));
  const spans = [
    ...own,
    ...(await readChildren(engine, calls.slice(-MAX_CHILDREN), nowMs)),
    ...(isNewest ? runningTurn(engine, view, nowMs) : []),
  ];
  return {
    spans: spans.toSorted((a, b) => a.fromMs - b.fromMs),
    othersOfChildren: Math.max(0, calls.length - MAX_CHILDREN),
  };
}

function spanOf({ kind, node, hash }: LightCommit, next: LightCommit | undefined, nowMs: number): Span[] {
  if (kind === 'step') {
    const { role, number, usage, startedAtMs: fromMs, completedAtMs: untilMs } = node;
    return [{ kind, role, number, step: hash, usage, fromMs, untilMs, isOpen: false }];
  }
  if (kind !== 'suspend') return [];
  const { role, reason, usage, suspendedAtMs: fromMs } = node;
  const untilMs = next === undefined ? nowMs : timeOfCommit(next);
  return [{ kind: 'wait', role, reason, suspension: hash, usage, fromMs, untilMs, isOpen: next === undefined }];
}

async function readChildren(engine: EngineContext, calls: ThreadView['calls'], nowMs: number): Promise<Span[]> {
  const spans: Span[] = [];
  for (const { thread, role, key } of calls) {
    // A child whose ref was removed is not known any more, nor is a damaged one.
    const child = await describeThread(engine, thread).catch(nothingForDataError);
    if (child === undefined) continue;
    const { workflow, usage, startedAt, endedAt } = child;
    const untilMs = endedAt === null ? nowMs : Date.parse(endedAt);
    const fromMs = Date.parse(startedAt);
    const isOpen = endedAt === null;
    spans.push({ kind: 'child', role, thread, workflow, key: ownKey(key), usage, fromMs, untilMs, isOpen });
  }
  return spans;
}

function runningTurn({ repository }: EngineContext, view: ThreadView, nowMs: number): Span[] {
  const { turn } = view.holder === null ? {} : readRunningTurn(repository, view);
  if (turn === undefined) return [];
  const { role, number, startedAtMs } = turn;
  return [{ kind: 'turn', role, number, usage: null, fromMs: startedAtMs, untilMs: nowMs, isOpen: true }];
}

/** Characters of East Asian scripts and pictures, which are about twice as wide as letters. */
const wide =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;

/** About how wide a text is in pixels: the server has no fonts, so it assumes wide letters. */
export function textWidth(text: string, fontSize: number): number {
  let ems = 0;
  for (const character of text) ems += wide.test(character) ? 1.05 : 0.58;
  return Math.ceil(ems * fontSize);
}
