import type { ThreadStart } from '../schema/built-in/thread-start.ts';
import { type Exchanged, keepEnd, tellExchange } from './exchange.ts';

/** A step in the context. */
export type ContextStep = {
  /** From 1. */
  number: number;
  role: string;
  /** `meta.$status`, or null. */
  status: string | null;
  /** Its meta and its reply. */
  text: string;
};

export type NamedStep = Omit<ContextStep, 'text'> & { text?: undefined };

export function isTold(step: ContextStep | NamedStep): step is ContextStep {
  return step.text !== undefined;
}

/** The caller of a child thread, and the hashes with which an agent can read the caller's history. */
export type ContextParent = {
  /** The caller's id. */
  thread: string;
  /** The role of the caller that this thread does the work of. */
  role: string;
  /** The caller's last step at the moment of the call, or its start. */
  stateHash: string;
  /** The prompt of the caller's user. */
  promptHash: string;
};

/** The history of a thread for an agent's prompt: the newest steps, and the exchange with people. */
export type ContextHistory = {
  total: number;
  /** How many steps the role took, and the number of the last of them; 0 if none. */
  own: { visits: number; last: number };
  /** The summary of the first `steps` steps; absent if the thread was never compacted. */
  compact?: { summary: string; steps: number } | undefined;
  /** The newest steps since the compaction, oldest first: all for which there is room, and those that the list names. */
  steps: readonly (ContextStep | NamedStep)[];
  /** What passed between the role and people since its last step, oldest first. */
  exchange: readonly Exchanged[];
  /** The answers with which people resumed the thread after it had ended, oldest first. */
  reopenings: readonly Exchanged[];
  /** How much of `steps` and `exchange` the agent's session has seen; absent for a new session, or one of another chain. */
  seen?: { steps: number; exchange: number } | undefined;
};

/** All that an agent's context is made of. Values: the same parts give the same text. */
export type ContextParts = ContextHistory & {
  threadId: string;
  role: { name: string; description: string; systemPrompt: string; extractPrompt: string };
  /** How the reply has to look, generated from the role's schema. */
  instruction: string;
  /** The user's prompt. */
  task: string;
  /** The prompt of the rule that chose the role. */
  edgePrompt: string | undefined;
  /** Whether the role's last turn was cut off, and its session goes on. */
  isCutOff?: boolean | undefined;
  /** The role's reply that it is to give anew, and what a person says about it. */
  again?: { reply: ContextStep; word: string } | undefined;
  parent: ContextParent | undefined;
  /**
   * How many characters the replies of earlier steps and of suspended turns may have together. The newest step's is kept
   * whole all the same, and so is every reason and every word of a person.
   */
  maxCharacters: number;
};

/** The default of {@link ContextParts.maxCharacters}. */
export const DEFAULT_MAX_CHARACTERS = 60_000;

/** The text for a role whose step is done again, before the person's own words. */
const AGAIN =
  'A person has read this reply and has more to say. Do the work again with that in mind. Your new reply takes the place ' +
  'of the other one: give it whole.';

/** The text for a role whose turn was cut off, in the session in which it worked. */
const CUT_OFF =
  'Your turn was cut off before you gave this reply. What you have done is above: go on from there, and do nothing twice.';

/** The most steps that the list of steps names: the newest ones. */
export const MAX_PROGRESS_LINES = 40;

/**
 * Writes the prompt of an agent: the output it owes, the task, the progress of the thread, the role's instructions, what
 * happened since its last turn, and what to do now.
 *
 * An empty part is left out. A truncated part says what was cut, and how to read it.
 */
export function assembleContext(parts: ContextParts): string {
  const { role, seen, compact } = parts;
  const unseen = parts.exchange.slice(seen?.exchange ?? 0);
  const [exchange, room] = tellExchange(unseen, parts.threadId, parts.maxCharacters);
  const sections: [title: string, text: string | undefined][] = [
    ['Your reply', paragraphs(role.extractPrompt, parts.instruction)],
    ['The task', parts.task],
    ['The thread was taken up again', describeReopenings(parts)],
    ['Where this task comes from', parts.parent && describeParent(parts.parent)],
    ['What has been done', describeProgress(parts)],
    [`You are ${role.name}`, paragraphs(role.description, role.systemPrompt)],
    // A session that has seen all summarized steps needs no summary of them.
    ['What was said before, in short', seen && compact && seen.steps >= compact.steps ? undefined : compact?.summary],
    [seen ? 'What was said since your last turn' : 'What was said so far', describeNews(parts, room)],
    ['What to do now', parts.edgePrompt],
    ['Go on', seen && parts.isCutOff ? CUT_OFF : undefined],
    ['What passed between you and people', exchange],
    ['What you replied to that', parts.again && entry(parts.again.reply, parts.again.reply.text.trim())],
    ['Do it again', parts.again && `${AGAIN}\n\n${parts.again.word}`],
  ];
  return titled(sections);
}

/** The most characters that a person is shown of one reply, and of all replies but the newest together. */
export const MAX_FOR_PERSON = 3000;

/**
 * Writes the briefing for a person who takes the role's turn, and the question: the prompt of the rule, or the purpose of the
 * role. Instructions for models are left out.
 */
export function assembleForPerson(parts: ContextParts): { briefing: string; question: string } {
  const { threadId, again } = parts;
  const question = questionFor(parts.role, parts.edgePrompt);
  const steps = parts.steps.map((step) =>
    isTold(step) ? { ...step, text: cutForPerson(step.text.trim(), threadId) } : step,
  );
  const seen = { steps: parts.own.last, exchange: 0 };
  const sections: [title: string, text: string][] = [
    ['The task', question.includes(parts.task.trim()) ? '' : parts.task],
    ['The thread was taken up again', describeReopenings(parts)],
    ['What was said', describeNews({ ...parts, steps, seen }, MAX_FOR_PERSON)],
    ['Do it again', again ? paragraphs(entry(again.reply, again.reply.text.trim()), again.word) : ''],
  ];
  return { briefing: titled(sections), question };
}

type Asking = {
  start: Pick<ThreadStart, 'call'>;
  definition: { roles: Readonly<Record<string, Omit<ContextParts['role'], 'name'>>> };
  task: string;
};

/**
 * The question that is stored as the prompt of a person's turn.
 * @param prompt of the rule that gave the turn
 */
export function questionOf({ start, definition, task }: Asking, name: string, prompt: string | undefined): string {
  const { description = '', systemPrompt = '' } = definition.roles[name] ?? {};
  const asked = prompt ?? (isRoleAlone(start, definition) ? task : undefined);
  return questionFor({ name, description, systemPrompt }, asked);
}

/** What a person is asked who takes a role's turn: the prompt of the rule, or the purpose of the role. */
function questionFor(
  { name, description, systemPrompt }: Pick<ContextParts['role'], 'name' | 'description' | 'systemPrompt'>,
  edgePrompt: string | undefined,
): string {
  const said = [edgePrompt ?? '', systemPrompt, description].find((text) => text.trim() !== '');
  return (said ?? `What does '${name}' say?`).trim();
}

/** Tells whether a thread is a branch with one role. Its task is what that role is asked: no rule says anything. */
export function isRoleAlone({ call }: Pick<ThreadStart, 'call'>, { roles }: { roles: object }): boolean {
  return call?.block !== undefined && Object.keys(roles).length === 1;
}

function cutForPerson(text: string, threadId: string): string {
  const surplus = text.length - MAX_FOR_PERSON;
  if (surplus <= 0) return text;
  return `${text.slice(0, MAX_FOR_PERSON)}\n[${surplus} more characters; read all with 'uwf thread read ${threadId}']`;
}

function titled(sections: readonly [title: string, text: string | undefined][]): string {
  return sections.flatMap(([title, text]) => (text?.trim() ? [`# ${title}\n\n${text.trim()}\n`] : [])).join('\n');
}

function describeParent({ thread, role, stateHash, promptHash }: ContextParent): string {
  return paragraphs(
    `This thread does the work of role '${role}' of thread ${thread}. What was known there is at hand:`,
    [
      `- \`uwf cas get ${promptHash}\`: what its user asked for`,
      `- \`uwf cas get ${stateHash}\`: where it stood when it called`,
      `- \`uwf thread read ${thread}\`: all that was said there`,
    ].join('\n'),
  );
}

function describeReopenings({ reopenings }: ContextParts): string {
  const told = reopenings.map((part) => {
    const words = part.kind === 'resumed' ? part.words?.trim() : undefined;
    const what = `It had ended after step ${part.after}, and a person took it up again`;
    return words ? `${what}, saying:\n\n${words}` : `${what}.`;
  });
  return paragraphs(...told);
}

function describeProgress({ threadId, role, steps, compact, total, own }: ContextParts): string | undefined {
  if (total === 0) return undefined;
  const before = compact?.steps ?? 0;
  const named = steps.slice(-MAX_PROGRESS_LINES);
  const surplus = total - before - named.length;
  const lines = named.map(
    ({ number, role: name, status }) => `${number}. ${name}${status === null ? '' : `: ${status}`}`,
  );
  const left = surplus > 0 ? [`… ${surplus} steps left out; 'uwf step list ${threadId}' lists all`] : [];
  // Visits before the compaction are not counted.
  const time = compact ? 'now' : `now, for the ${ordinal(own.visits + 1)} time`;
  const summed = before === 0 ? [] : [`1 to ${before}: summed up below; 'uwf step list ${threadId}' lists them`];
  return [...summed, ...left, ...lines, `${total + 1}. ${role.name}: ${time}`].join('\n');
}

/**
 * The replies that the agent has not seen, newest last: as many whole ones as there is room for, counted from the newest,
 * which is never cut. Of the first that does not fit, the end is kept.
 */
function describeNews({ threadId, steps, seen, compact }: ContextParts, characters: number): string {
  const after = Math.max(seen?.steps ?? 0, compact?.steps ?? 0);
  const news = steps.filter((step) => step.number > after);
  const told: string[] = [];
  let room = characters;
  let left = news.at(-1)?.number ?? after;
  let isCut = false;
  for (const [age, step] of news.toReversed().entries()) {
    if (!isTold(step)) break;
    const text = step.text.trim();
    isCut = age > 0 && text.length > room;
    if (isCut && room <= 0) break;
    const end = isCut ? `[the first ${text.length - room} characters are cut]\n\n${keepEnd(text, room)}` : text;
    told.unshift(entry(step, end));
    left = step.number - 1;
    if (isCut) break;
    room -= text.length;
  }
  if (left > after || isCut) told.unshift(leftOut(after + 1, left, threadId));
  return told.filter((text) => text !== '').join('\n\n');
}

function entry({ number, role, status }: NamedStep | ContextStep, text: string): string {
  const title = `## ${number}. ${role}${status === null ? '' : ` (${status})`}`;
  return text === '' ? title : `${title}\n\n${text}`;
}

function leftOut(first: number, last: number, threadId: string): string {
  if (first > last) return `[read all of it with 'uwf thread read ${threadId}']`;
  const which = first === last ? `step ${first} is` : `steps ${first} to ${last} are`;
  return `[${which} left out; read all with 'uwf thread read ${threadId}']`;
}

function ordinal(n: number): string {
  const endings: Record<number, string> = { 1: 'st', 2: 'nd', 3: 'rd' };
  const ending = Math.floor((n % 100) / 10) === 1 ? 'th' : (endings[n % 10] ?? 'th');
  return `${n}${ending}`;
}

function paragraphs(...texts: readonly string[]): string {
  return texts.filter((text) => text.trim() !== '').join('\n\n');
}

type SummaryParts = {
  task: string;
  /** Oldest first. */
  steps: readonly ContextStep[];
  /** The most characters of steps in one prompt. */
  maxCharacters: number;
};

const INSTRUCTION = `Sum up the work of several roles on a task, for those of them who go on with it. They are told your summary instead of
what was said, and nothing else of it: keep every decision and its reason, what was done and what is still to be done, names of
files, commands, hashes and numbers as they are, and what was tried and did not work. Leave out courtesies and repetitions.
Do not do any of the work, and do not change any file. Reply with the summary as plain Markdown, without front matter.`;

/**
 * Writes the prompts with which an agent summarizes a thread. Each has as many steps as fit, and the summary of those before.
 * There is at least one prompt.
 */
export function summaryPrompts({ task, steps, maxCharacters }: SummaryParts): ((before?: string) => string)[] {
  return chunksOf(steps, maxCharacters).map((chunk) => (before) => {
    const said = chunk.map((step) => describe(step, maxCharacters)).join('\n\n');
    return titled([
      ['What you are to do', INSTRUCTION],
      ['The task of the thread', task],
      ['The summary so far, which yours replaces', before],
      ['What was said since', said],
    ]);
  });
}

/** Splits the steps so that the texts of each part fit. A step whose text alone does not fit is a part of its own. */
function chunksOf(steps: readonly ContextStep[], maxCharacters: number): ContextStep[][] {
  const chunks: ContextStep[][] = [[]];
  let characters = 0;
  for (const step of steps) {
    if (characters > 0 && characters + step.text.length > maxCharacters) {
      chunks.push([]);
      characters = 0;
    }
    chunks.at(-1)?.push(step);
    characters += step.text.length;
  }
  return chunks;
}

function describe(step: ContextStep, maxCharacters: number): string {
  const { text } = step;
  const surplus = text.length - maxCharacters;
  const half = Math.floor(maxCharacters / 2);
  const shown = surplus > 0 ? `${text.slice(0, half)}\n[${surplus} characters are cut]\n${text.slice(-half)}` : text;
  return entry(step, shown.trim());
}
