import { splitFrontMatter } from '../../agent/extract/front-matter.ts';
import { formatUsage } from '../../agent/format-usage.ts';
import { formatDuration, formatTime } from '../../text/wording.ts';
import { firstLine } from '../../thread/commit-message.ts';
import type { Suspension } from '../../thread/exchange.ts';
import type { Resumption } from '../../thread/read-said.ts';
import type { PartKind, ToolCallDraft, TracedTurn } from '../../thread/step-trace.ts';
import { formatMeta } from './table.ts';
import { harmless, oneLine, type Palette } from './text.ts';

export const suspensionFields: Readonly<Record<Exclude<keyof Suspension, 'role' | 'text' | 'usage'>, string>> = {
  suspension: "the suspension's hash; of a resumption that of what it answers",
  reason: 'what the turn waits for',
  cause: 'what stopped it: agent, invalid-reply, limit, timeout, human, child, …',
  refused:
    'replies that were not accepted: attempt (its hash), errors, text, usage, interrupted (true for a try that was cut off)',
  trace: "the hash of the turn's trace, or null; 'uwf step turns <suspension>' shows it",
  due: 'when it makes sense to go on; absent where that does not depend on the time',
};

export const resumptionFields: Readonly<Record<Exclude<keyof Resumption, 'suspension'>, string>> = {
  resumption: "the resumption's hash",
  more: 'how much more than its limits the thread may use; absent where nothing was added',
};

/** The facts of a suspension in one line: `invalid-reply  3 tokens in, 4 out, 1 turn  due 2026-…`. */
export function suspensionFacts({ cause, usage, due }: Pick<Suspension, 'cause' | 'usage' | 'due'>): string {
  return [`cause ${cause}`, formatUsage(usage), due && `due ${due}`].filter(Boolean).join('  ');
}

/** Writes what was said in a suspended turn as Markdown: the replies that were not accepted, then what it said last. */
export function suspensionMarkdown({ refused, text }: Pick<Suspension, 'refused' | 'text'>, paint: Palette): string {
  const sections = refused.map((reply, place) => {
    const [what, fate] = reply.interrupted ? ['Try', 'cut off'] : ['Reply', 'not accepted'];
    const title = `${paint.title(`## ${what} ${place + 1}, ${fate}`)}\n${reply.errors.map(oneLine).join('\n')}`;
    return [title, harmless(reply.text).trim()].filter((part) => part !== '').join('\n\n');
  });
  // Where every try was refused, the last one is what the agent said.
  if (text !== refused.at(-1)?.text) sections.push(harmless(text).trim());
  return sections.filter((section) => section !== '').join('\n\n');
}

/** `maxSteps: 5, maxCostUsd: 2`. */
export function formatMore(more: object): string {
  return formatMeta(more).replaceAll('\n', ', ');
}

/** The first line that says something of a reply as it was given, behind its front matter; '' if there is none. */
export function subjectOfReply(reply: string): string {
  const split = splitFrontMatter(reply);
  return firstLine(split.kind === 'found' ? split.body : reply);
}

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
