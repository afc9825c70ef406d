import type { NodeHash } from '../cas/hash.ts';
import type { Commit } from '../git/format/objects.ts';
import { isJsonObject, type JsonObject } from '../json.ts';
import { type AgentRecord, isOfProgram } from '../schema/built-in/workflow.ts';
import { fileTypes, statusOf, textPaths, type ThreadEvent } from './thread-commit.ts';

/**
 * The longest body that a message contains whole, in bytes of UTF-8, and how much it contains of a longer one. The tree has
 * the whole text. A message is compressed by itself, so a whole reply would be stored twice.
 */
const MAX_BODY_BYTES = 512;
const KEPT_BODY_BYTES = 256;
const MAX_SUBJECT_CHARACTERS = 100;
/** The trailer that names the thread of a commit of the user's code. */
const CODE_TRAILER = 'Uwf-Thread';

/** What a message tells beside the node of its commit. */
export type Beside = {
  /** The text of the commit (`textNodeOf`); '' if it has none. */
  text: string;
  /** Of a start: the name of its workflow. */
  workflow?: string | undefined;
  agent?: AgentRecord | undefined;
  /** Of a step: who is next by the rules, a role or `__end__`; absent where that was not worked out. */
  next?: string | undefined;
  /** Of an end whose summary is the text of the last step: that step. */
  last?: { agent: AgentRecord | undefined; meta: JsonObject } | undefined;
};

type Event = ThreadEvent & { hash: NodeHash };
type Told = ThreadEvent & { commit: Pick<Commit, 'message'> };

/**
 * Writes the message of a thread's commit: a subject, the text, and trailers as the last paragraph.
 *
 * It is for people: nothing is decided from it. It is a function of the thread's nodes, so that verification makes it anew and
 * compares it. Control characters other than tab and newline are removed. Of a text with more than 512 bytes the first 256
 * are kept. Lines that look like trailers (`Uwf-…:`) are indented, so a text cannot forge them.
 */
export function messageOfCommit(event: Event, beside: Beside): string {
  const paragraphs = [onOneLine(subjectOf(event, beside))];
  const text = clean(beside.text).trim();
  if (text !== '') paragraphs.push(guard(cut(text, textPaths[event.kind])));
  paragraphs.push(trailersOf(event, beside.agent).join('\n'));
  const message = `${paragraphs.join('\n\n')}\n`;
  return event.kind === 'step' ? withNext(message, beside.next) : message;
}

/** The message of a step, with who is next as its last trailer. */
export function withNext(message: string, next: string | undefined): string {
  return next === undefined ? message : `${message}Uwf-Next: ${next}\n`;
}

function subjectOf(event: Event, { text, workflow = '', agent, last }: Beside): string {
  switch (event.kind) {
    case 'start':
      return `${workflow}: ${firstLine(text)}`;
    case 'step': {
      const { role, meta } = event.node;
      return `${role}: ${lineOfReply(text, agent, meta) || describeMeta(meta)}`;
    }
    case 'suspend':
      return `${event.node.role} waits: ${event.node.reason}`;
    case 'resume':
      return event.node.answer === null ? 'resumed' : `resumed: ${firstLine(text)}`;
    case 'end':
      return `${event.node.outcome}: ${lineOfReply(text, last?.agent, last?.meta)}`;
  }
}

/** The line that stands for the text of a step: the first, of a program's output the last that says something. */
export function lineOfReply(text: string, agent: AgentRecord | undefined, meta: JsonObject | undefined): string {
  return agent && meta && isOfProgram(agent, meta) ? lastLine(text) : firstLine(text);
}

/**
 * The same of a stored commit, whose message tells which line it is, so that the agent need not be read. The summary of a
 * thread can be a program's output, too.
 */
export function lineOfStored(told: Told, text: string): string {
  return lineOfOutput(told, text) ?? firstLine(text);
}

/** The last line that says something of a text that is a program's output of several lines; null of any other text. */
export function lineOfOutput(told: Told, text: string): string | null {
  const who = told.kind === 'step' ? told.node.role : told.kind === 'end' ? told.node.outcome : undefined;
  if (who === undefined) return null;
  const [subject] = told.commit.message.split('\n', 1);
  const [first, last] = [firstLine(text), lastLine(text)];
  return subject === onOneLine(`${who}: ${last}`) && subject !== onOneLine(`${who}: ${first}`) ? last : null;
}

function describeMeta(meta: JsonObject): string {
  const status = statusOf(meta);
  if (status !== null) return status;
  const scalars = Object.entries(meta).filter(([, value]) => !isJsonObject(value) && !Array.isArray(value));
  return scalars.map(([key, value]) => `${key} ${JSON.stringify(value)}`).join(', ') || 'done';
}

/**
 * Writes the message of a commit of the user's code with the changes of a thread.
 * @param prompt its first line is the subject
 * @param summary of an ended thread; `undefined` before
 */
export function codeMessage(thread: string, prompt: string, summary: string | undefined): string {
  const subject = onOneLine(firstLine(prompt));
  const body = guard(clean(summary ?? '').trim());
  const paragraphs = [subject || 'What a thread did', body, `${CODE_TRAILER}: ${thread}`];
  return `${paragraphs.filter((paragraph) => paragraph !== '').join('\n\n')}\n`;
}

/** The body of a message that {@link commitMessage} wrote: the reply, or its beginning. */
export function bodyOfMessage(message: string): string {
  return message.trimEnd().split('\n\n').slice(1, -1).join('\n\n');
}

/** The text of the trailer that names the commit's node; `undefined` if there is none. */
export function nodeOfMessage(message: string): string | undefined {
  return trailerIn(message, 'Node');
}

/** The name of the agent that took a turn; '' if the message does not say it. */
export function agentOfMessage(message: string): string {
  return trailerIn(message, 'Agent') ?? '';
}

/**
 * Tells whether a commit can be the start of a thread, by its message: it says so, or it has no trailer with another type. A
 * commit of the user's code has none.
 */
export function mayBeStart(message: string): boolean {
  const type = trailerIn(message, 'Type');
  return type === undefined || type === 'thread-start';
}

/** Who is next by the rules after a step, as its message tells: a role or `__end__`; `undefined` where it does not tell. */
export function nextOfMessage(message: string): string | undefined {
  return trailerIn(message, 'Next');
}

function trailerIn(message: string, name: string): string | undefined {
  const trailers = message.slice(message.lastIndexOf('\n\n') + 2);
  return new RegExp(`^Uwf-${name}: (.*)$`, 'm').exec(trailers)?.[1];
}

/** A subject: one line, of at most 100 characters. */
function onOneLine(text: string): string {
  return shorten(clean(text).replaceAll(/\s+/g, ' ').trim(), MAX_SUBJECT_CHARACTERS);
}

function clean(text: string): string {
  return text.replaceAll(/\r\n?/g, '\n').replaceAll(/[^\P{Cc}\t\n]/gu, '');
}

/** Shortens a text that is longer than `limit` characters, with `…` at its end. */
export function shorten(text: string, limit: number): string {
  const characters = [...text];
  return characters.length <= limit ? text : `${characters.slice(0, limit - 1).join('')}…`;
}

function cut(text: string, path: string): string {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= MAX_BODY_BYTES) return text;
  // Removes a character and a word that were cut in half. Half a character decodes to U+FFFD.
  const kept = new TextDecoder()
    .decode(bytes.subarray(0, KEPT_BODY_BYTES))
    .replace(/\uFFFD+$/, '')
    .replace(/(?<=\s)\S{1,40}$/, '');
  return `${kept.trimEnd()}\n\n[cut here: ${path} has all ${bytes.length} bytes]`;
}

function guard(text: string): string {
  return text.replaceAll(/^(?=\s*uwf-[\w-]*\s*:)/gim, '    ');
}

/**
 * The trailers of a message, a line each.
 * @param agent of a step or a suspension
 */
function trailersOf(event: Event, agent: AgentRecord | undefined): string[] {
  const lines = [`Uwf-Node: ${event.hash}`, `Uwf-Type: ${fileTypes[event.kind]}`];
  const add = (name: string, value: string | null | undefined): void => {
    if (value) lines.push(`Uwf-${name}: ${clean(value).replaceAll(/\s+/g, ' ').trim()}`);
  };
  if (event.kind === 'end') add('Status', event.node.outcome);
  if (event.kind !== 'step' && event.kind !== 'suspend') return lines;
  add('Role', event.node.role);
  add('Status', event.kind === 'step' ? statusOf(event.node.meta) : 'suspended');
  add('Agent', agent?.name);
  if (event.kind === 'suspend') return lines;
  const { usage, startedAtMs, completedAtMs } = event.node;
  if (usage) add('Tokens', `${usage.inputTokens + usage.outputTokens}`);
  add('Duration', `${((completedAtMs - startedAtMs) / 1000).toFixed(1)}s`);
  return lines;
}

/**
 * A letter or a digit, roughly: ASCII, and what is no punctuation, symbol or private character above it. Ranges instead of
 * `\p{L}`, whose meaning grows with each version of Node: verification makes these lines anew, on every machine the same.
 */
const says =
  /[0-9A-Za-zªµº\u00C0-\u1FFF\u2C00-\u2DFF\u3040-\uD7FF\uF900-\uFDFF\uFE70-\uFEFE\uFF10-\uFFDC\u{10000}-\u{1EFFF}\u{20000}-\u{3FFFF}]/u;

/** The first line with a letter or digit, without Markdown's marks of headings and lists; '' if there is none. */
export function firstLine(text: string): string {
  const line = text.split(/\r?\n/).find((candidate) => says.test(candidate)) ?? '';
  return line.replace(/^[\s#>*-]+/, '').trim();
}

/** What npm, pnpm and make add below the output of what they ran, and how long it took. */
const aside =
  /^[^0-9a-z]*(?:npm (?:err|error|notice|warn)\b|elifecycle\b|make(?:\[\d+\])?:|(?:duration(?:_ms)?|start at|done in|time:)\s)/i;
// oxlint-disable-next-line no-control-regex -- the escape character is what is looked for
const colours = /\u001B\[[\d;]*m/g;

/**
 * The last line of a program's output that says something: it has a letter or digit and is no {@link aside}; if all are, the
 * last with a letter or digit. Colours, and rules of `=`, `-`, `_`, `*`, `#` and `>` around it, are left out.
 */
export function lastLine(output: string): string {
  const lines = output.replaceAll(colours, '').split(/\r\n?|\n/);
  const line =
    lines.findLast((each) => says.test(each) && !aside.test(each)) ?? lines.findLast((each) => says.test(each));
  return (line ?? '').replace(/^[\s#>*=_-]+/, '').replace(/[\s*=_-]+$/, '');
}
