import { type IndexEntry, type NodeReader, readNodeAt } from '../cas/commit-nodes.ts';
import type { NodeHash } from '../cas/hash.ts';
import type { Repository } from '../git/repository.ts';
import { iso } from '../time/clock.ts';
import { payloadOf, type Payloads, type TypeName } from '../schema/built-in.ts';
import type { Usage } from '../schema/built-in/schema-parts.ts';
import type { SuspendCause } from '../schema/built-in/thread-start.ts';
import { readReply } from './thread-chain.ts';
import { readTextAt, type ThreadCommit } from './thread-commit.ts';
import { CorruptThread } from './thread-errors.ts';
import type { CommitOf } from './thread-state.ts';

/** A rejected reply, and why; with `interrupted` a try that was cut off, whose text may be empty. */
export type RefusedReply = {
  attempt: NodeHash;
  errors: string[];
  text: string;
  usage: Usage | null;
  interrupted?: true;
};

/** A suspended turn: its role, the reason, and what was said. */
export type Suspension = {
  suspension: NodeHash;
  role: string;
  reason: string;
  cause: SuspendCause;
  /** What the agent said before it stopped; '' if nothing. */
  text: string;
  /** Oldest first. */
  refused: RefusedReply[];
  /** The session that `readTrace` reads; null where the agent left no trace. */
  trace: NodeHash | null;
  usage: Usage | null;
  /** When the turn can be taken again, ISO 8601; absent if that does not depend on the time. */
  due?: string;
};

/** Reads what was said in a turn that ended in a suspension. */
export async function readSuspension(repository: Repository, commit: CommitOf<'suspend'>): Promise<Suspension> {
  const { role, reason, cause, react, usage, due } = commit.node;
  const text = await readReply(repository, commit);
  const refused = await readRefused(repository, commit);
  const dueAt = due !== undefined && { due: iso(due) };
  return { suspension: commit.hash, role, reason, cause, text, refused, trace: react, usage, ...dueAt };
}

/** Reads the rejected replies of a turn. */
export async function readRefused(repository: Repository, commit: Turn): Promise<RefusedReply[]> {
  const refused: RefusedReply[] = [];
  for (const attempt of commit.node.attempts) {
    const { content, errors, usage, interrupted } = await read(repository, commit, attempt, 'attempt');
    const { text } = await read(repository, commit, content, 'content');
    refused.push({ attempt, errors, text, usage, ...(interrupted && { interrupted }) });
  }
  return refused;
}

type Turn = CommitOf<'step' | 'suspend'>;

async function read<Name extends keyof Payloads>(
  repository: NodeReader,
  commit: Turn,
  hash: NodeHash,
  type: Name,
): Promise<Payloads[Name]> {
  return payloadOf(await readNodeAt(repository, entryOf(commit, hash, type)), type);
}

function entryOf(commit: Turn, hash: NodeHash, type: TypeName): IndexEntry {
  const entry = commit.index.find((candidate) => candidate.hash === hash);
  if (entry === undefined) throw new CorruptThread(commit.id, `it has no ${type} ${hash}`);
  return entry;
}

/** A suspended turn for lists and logs: without the texts of rejected replies. */
export type SuspensionOutline = Omit<Suspension, 'refused'> & {
  refused: Pick<RefusedReply, 'attempt' | 'errors' | 'interrupted'>[];
};

/** Reads a suspended turn as {@link readSuspension} does, without the texts of its rejected replies. */
export async function outlineSuspension(
  repository: Repository,
  commit: CommitOf<'suspend'>,
): Promise<SuspensionOutline> {
  const suspension = await readSuspension(repository, commit);
  return { ...suspension, refused: suspension.refused.map(({ text: _text, usage: _usage, ...outline }) => outline) };
}

/** One event between a role and people during an unfinished turn; `after` counts the steps before it. */
export type Exchanged = { after: number } & (
  | {
      kind: 'suspended';
      cause: SuspendCause;
      reason: string;
      /** What the agent said before it stopped, without what it repeats of its prompt; empty if nothing. */
      said: string;
      /** Oldest first, without the one whose text and errors are in `said` and `reason`. */
      refused: readonly Pick<RefusedReply, 'text' | 'errors'>[];
    }
  /** `words` is absent if a person continued the thread without an answer. */
  | { kind: 'resumed'; words: string | undefined }
);

/** A commit of an exchange; `after` counts the steps before it. */
export type ExchangeCommit = { commit: CommitOf<'suspend' | 'resume'>; after: number };

export async function readExchange(repository: Repository, commits: readonly ExchangeCommit[]): Promise<Exchanged[]> {
  const exchange: Exchanged[] = [];
  for (const { commit, after } of commits) {
    const told =
      commit.kind === 'suspend' ? await readStop(repository, commit) : await readResumption(repository, commit);
    exchange.push({ after, ...told });
  }
  return exchange;
}

type Event<K extends Exchanged['kind']> = Omit<Extract<Exchanged, { kind: K }>, 'after'>;

async function readResumption(repository: Repository, commit: CommitOf<'resume'>): Promise<Event<'resumed'>> {
  const words = commit.node.answer === null ? undefined : await readTextAt(repository, commit, 'answer.md');
  return { kind: 'resumed', words };
}

async function readStop(repository: Repository, commit: CommitOf<'suspend'>): Promise<Event<'suspended'>> {
  const suspension = await readSuspension(repository, commit);
  const { cause, reason, text: output } = suspension;
  const prompt = await readTextAt(repository, commit, 'prompt.md');
  // For a person, the output is the prompt with a form below it. No agent has written any of it.
  const said = cause === 'human' && output.startsWith(prompt) ? '' : withoutPrompt(output, prompt);
  const answered = suspension.refused.filter((reply) => !reply.interrupted);
  // The reason and the text of a turn that was given up repeat its last rejected reply.
  const others = isGivenUp(suspension) ? answered.slice(0, -1) : answered;
  const refused = others.map(({ text, errors }) => ({ text: withoutPrompt(text, prompt), errors }));
  return { kind: 'suspended', cause, reason, said, refused };
}

/** Tells whether a turn was suspended because its agent failed at each try, not because it asked something. */
export async function hasFailed(repository: Repository, commit: CommitOf<'suspend'>): Promise<boolean> {
  return commit.node.cause === 'agent' && isGivenUp(await readSuspension(repository, commit));
}

/**
 * Tells whether a turn ended with a rejected reply: the turn then has the text of that reply. An agent that asks something
 * without a text, after a try without a text, counts as one.
 */
function isGivenUp({ cause, text, refused }: Suspension): boolean {
  const last = refused.findLast((reply) => !reply.interrupted);
  return (cause === 'agent' || cause === 'invalid-reply') && last?.text === text;
}

/** Removes the prompt from a text that repeats it. Otherwise the text would double with each turn. */
function withoutPrompt(text: string, prompt: string): string {
  return prompt === '' ? text : text.replaceAll(prompt, () => '[the prompt]\n');
}

/** What a person answered to a role. */
export type StandingAnswer = {
  text: string;
  /** The reason with which the role stopped. */
  question: string;
  /** True if a failed turn after it had the answer in its prompt. */
  isKnown: boolean;
};

/**
 * Reads a person's answer to a role's question, as long as it is valid: until a turn that had it in the prompt ends in a step,
 * another question or a rejected reply. A turn that fails, times out or reaches a limit leaves it valid.
 * @param chain a thread's commits, from its start to its head
 * @returns `undefined` if there is no answer, or it was for another role
 */
export async function readStandingAnswer(
  repository: Repository,
  chain: readonly ThreadCommit[],
  role: string,
): Promise<StandingAnswer | undefined> {
  let isKnown = false;
  for (let i = chain.length - 1; i > 0; i -= 2) {
    const [suspension, resumption] = [chain[i - 1], chain[i]];
    // The text with which an ended thread is resumed is no answer: the commit before it is no suspension.
    if (resumption?.kind !== 'resume' || suspension?.kind !== 'suspend') return undefined;
    // A limit, or a rule that was undecided, kept this turn from beginning, so it neither asked anything nor got the answer.
    if (!hasBegun(suspension)) continue;
    if (suspension.node.role !== role) return undefined;
    if (resumption.node.answer !== null)
      return {
        text: await readTextAt(repository, resumption, 'answer.md'),
        question: suspension.node.reason,
        isKnown,
      };
    const { cause } = suspension.node;
    if (cause !== 'limit' && cause !== 'timeout' && !(await hasFailed(repository, suspension))) return undefined;
    isKnown = true;
  }
  return undefined;
}

/** Tells whether a turn started its agent. */
function hasBegun({ node }: CommitOf<'suspend'>): boolean {
  const { cause, usage, content, react, attempts } = node;
  if (cause === 'rule') return false;
  return cause !== 'limit' || usage !== null || content !== null || react !== null || attempts.length > 0;
}

/** The last characters of a text, without half of a surrogate pair. */
export function keepEnd(text: string, length: number): string {
  return length <= 0 ? '' : text.slice(-length).replace(/^[\uDC00-\uDFFF]/, '');
}

const CAUSES: Readonly<Partial<Record<SuspendCause, string>>> = {
  agent: 'You stopped',
  human: 'A person was asked',
  permission: 'A person was asked for a permission',
  'invalid-reply': 'Your reply was not accepted',
  limit: 'You were stopped at a limit',
  timeout: 'You ran out of time',
  rule: 'The rules of the workflow came to no decision',
  child: 'A child thread of yours stopped',
};

/**
 * Writes the exchange between a role and people, in order.
 *
 * Reasons, errors and a person's words are whole. The agent's own texts are truncated at the beginning if there is no room,
 * the oldest first, with a note of what was cut.
 * @param maxCharacters the room
 * @returns the text, empty if there was no exchange, and the room that is left
 */
export function tellExchange(
  exchange: readonly Exchanged[],
  threadId: string,
  maxCharacters: number,
): [text: string, room: number] {
  let room = maxCharacters;
  const fit = (text: string): string => {
    const surplus = text.length - room;
    room = Math.max(0, -surplus);
    if (surplus <= 0) return text;
    const notice = `[the first ${surplus} characters are cut; read all with 'uwf thread read ${threadId}']`;
    return `${notice}\n\n${keepEnd(text, text.length - surplus)}`;
  };
  const told = exchange.toReversed().map((part) => describe(part, fit));
  return [told.toReversed().join('\n\n'), room];
}

function describe(part: Exchanged, fit: (text: string) => string): string {
  const place = part.after === 0 ? '' : ` (after step ${part.after})`;
  if (part.kind === 'resumed') {
    const { words } = part;
    return words === undefined
      ? `## A person let you go on${place}`
      : `## A person answered${place}\n\n${words.trim()}`;
  }
  const said = part.said.trim() === '' ? [] : [`What you said:\n\n${quote(fit(part.said.trim()))}`];
  const refused = part.refused.toReversed().map((reply) => describeRefused(reply, fit));
  const title = `## ${CAUSES[part.cause] ?? 'You were stopped'}${place}`;
  return [title, quote(part.reason.trim()), ...refused.toReversed(), ...said].join('\n\n');
}

function describeRefused(
  { text, errors }: Pick<RefusedReply, 'text' | 'errors'>,
  fit: (text: string) => string,
): string {
  const list = errors.map((error) => `- ${error.replaceAll('\n', '\n  ')}`).join('\n');
  const reply = text.trim();
  return `A reply of yours was not accepted:\n\n${list}${reply === '' ? '' : `\n\nIt was:\n\n${quote(fit(reply))}`}`;
}

/** Quotes the text of an agent, so that no line of it looks like a heading and passes for the word of a person. */
function quote(text: string): string {
  return text.replaceAll(/^/gmu, '> ').replaceAll(/^> $/gmu, '>');
}
