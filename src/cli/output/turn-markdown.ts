import type { PartKind, ToolCallDraft, TracedTurn } from '../../thread/step-trace.ts';
import { harmless, oneLine, type Palette } from './text.ts';
import { formatDuration, formatTime } from '../../text/wording.ts';
import { formatUsage } from '../../agent/format-usage.ts';

const titles: Readonly<Record<PartKind, string>> = {
  thought: 'thought',
  plan: 'plan',
  refusal: 'kept from something',
  note: 'note',
};

/** Writes a turn of a model as Markdown: what it was told, thought, said, and the tools that it called. */
export function turnMarkdown(turn: TracedTurn, of: number, paint: Palette): string {
  const { tokens, costUsd } = turn;
  const { input, output, cacheRead = 0, cacheWrite = 0 } = tokens;
  const used = { inputTokens: input, outputTokens: output, cacheReadTokens: cacheRead, cacheWriteTokens: cacheWrite };
  const facts = [
    formatTime(turn.startedAtMs),
    formatDuration(turn.latencyMs),
    formatUsage({ ...used, turns: 0, ...(costUsd !== undefined && { costUsd }) }),
    turn.hash,
  ];
  const sections = [
    section('told', turn.input, paint),
    ...turn.parts.map(({ kind, text }) => section(titles[kind], text, paint)),
    section('said', turn.output, paint),
    ...turn.toolCalls.map((call) => callMarkdown(call, paint)),
  ];
  const head = `${paint.title(`## Turn ${turn.number} of ${of}`)}\n${paint.quiet(facts.join('  '))}`;
  return [head, ...sections.filter((text) => text !== '')].join('\n\n');
}

/** Writes a call of a tool: what it was given, and what it gave back. */
function callMarkdown(call: ToolCallDraft, paint: Palette): string {
  const outcome = call.isError ? paint.error('failed') : 'gave';
  const head = `${paint.title(`### called ${oneLine(call.name)}`)} ${paint.quiet(`(${formatDuration(call.durationMs)})`)}`;
  return [head, fenced(call.arguments), `${outcome}:`, fenced(call.result)].join('\n\n');
}

function section(title: string, text: string, paint: Palette): string {
  const shown = harmless(text).trim();
  return shown === '' ? '' : `${paint.title(`### ${title}`)}\n\n${shown}`;
}

/** A text as a block of code, between fences longer than any in it. Source: CommonMark, 4.5. */
export function fenced(text: string): string {
  const shown = harmless(text).trimEnd();
  const longest = Math.max(2, ...[...shown.matchAll(/^ {0,3}(`+)/gm)].map(([, ticks = '']) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${shown}\n${fence}`;
}
