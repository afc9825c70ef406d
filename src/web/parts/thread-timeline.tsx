import { type Html, PageLink } from './page.tsx';
import type { ThreadView } from '../../engine/describe/describe.ts';
import { formatCount, formatDuration, formatTime, plural } from '../../text/wording.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Usage } from '../../schema/built-in/schema-parts.ts';
import {
  layoutTimeline,
  readSpans,
  type Span,
  textWidth,
  type TimelineDrawing,
  type TimelineLane,
} from '../drawing/layout-timeline.ts';
import type { Visit } from '../site.ts';
import { addressOfView, DataTable } from './labels.tsx';

type TimelineProps = {
  visit: Visit;
  view: ThreadView;
  /** How many steps are on one page. */
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
