import type { Html } from '../html.ts';
import { formatUsage } from '../../agent/format-usage.ts';
import { formatCount, formatDuration, plural } from '../../format-time.ts';
import type { NodeHash } from '../../cas/hash.ts';
import type { PartKind, ToolCallDraft, Trace, TracedTurn } from '../../thread/step-trace.ts';
import { PageLink } from './link.tsx';

const titles: Readonly<Record<PartKind, string>> = {
  thought: 'Thought',
  plan: 'Plan',
  refusal: 'Kept from something',
  note: 'Note',
};

/** Longer inputs, results and texts are cut. */
const MAX_TEXT = 20_000;
/** Of all turns together. */
const MAX_PAGE = 1_000_000;

type TraceProps = { trace: Trace; step: NodeHash; address: string };

/** The turns of the model behind a step, folded: what it was told, thought and said, and the tools that it called. */
export function TracePanel({ trace: { session, turns }, step, address }: TraceProps): Html {
  const total = session.turns.length;
  const first = turns[0]?.number ?? 1;
  const last = turns.at(-1)?.number ?? total;
  const room = { left: MAX_PAGE, isCut: false };
  const shown = turns.map((turn) => <Turn turn={turn} total={total} room={room} />);
  return (
    <>
      {last < total && (
        <p>
          Turns {first} to {last} of {formatCount(total)}. <PageLink href={`${address}#turns`}>Newest turns</PageLink>
        </p>
      )}
      {shown}
      {first > 1 && (
        <p>
          <PageLink href={`${address}?turns=${first}#turns`}>Earlier turns</PageLink>
        </p>
      )}
      {room.isCut && (
        <p class="quiet">
          Long texts are cut. All of them: <code>uwf step turns {step}</code>
        </p>
      )}
    </>
  );
}

type Room = { left: number; isCut: boolean };

function Turn({ turn, total, room }: { turn: TracedTurn; total: number; room: Room }): Html {
  const { number, input, output, parts, toolCalls, tokens, costUsd, latencyMs } = turn;
  const usage = {
    inputTokens: tokens.input,
    outputTokens: tokens.output,
    turns: 0,
    ...(costUsd !== undefined && { costUsd }),
  };
  const failed = toolCalls.filter(({ isError }) => isError).length;
  return (
    <details class="traced" id={`turn-${number}`}>
      <summary>
        Turn {number} of {formatCount(total)}{' '}
        <span class="quiet">
          {formatDuration(latencyMs)}
          {toolCalls.length > 0 && `, ${plural(toolCalls.length, 'tool call')}`}
          {failed > 0 && `, ${failed} failed`}, {formatUsage(usage)}
        </span>
      </summary>
      <Told title="Told" text={input} room={room} />
      {parts.map(({ kind, text }) => (
        <Told title={titles[kind]} text={text} room={room} />
      ))}
      <Told title="Said" text={output} room={room} />
      {toolCalls.map((call) => (
        <Call call={call} room={room} />
      ))}
    </details>
  );
}

function Told({ title, text, room }: { title: string; text: string; room: Room }): Html | null {
  if (text.trim() === '') return null;
  return (
    <>
      <h3>{title}</h3>
      <Cut text={text} room={room} />
    </>
  );
}

function Call({ call, room }: { call: ToolCallDraft; room: Room }): Html {
  const { name, arguments: given, result, isError, durationMs } = call;
  return (
    <details class={isError ? 'call failed' : 'call'}>
      <summary>
        {name}{' '}
        <span class="quiet">
          {isError && 'failed, '}
          {formatDuration(durationMs)}
        </span>
      </summary>
      <h3>Given</h3>
      <Cut text={given} room={room} />
      <h3>{isError ? 'Failed' : 'Result'}</h3>
      <Cut text={result} room={room} />
    </details>
  );
}

function Cut({ text, room }: { text: string; room: Room }): Html {
  const shown = text.slice(0, Math.min(MAX_TEXT, room.left));
  room.left -= shown.length;
  room.isCut ||= shown.length < text.length;
  return <pre class="plain">{shown.length < text.length ? `${shown} …` : shown}</pre>;
}
