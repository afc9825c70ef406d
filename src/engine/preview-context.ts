import { readThread } from '../thread/thread-state.ts';
import { readStart } from '../thread/read-start.ts';
import { getThread, type ThreadPointer } from '../thread/find-thread.ts';
import { readHistory } from '../thread/context-history.ts';
import { readTextAt, readThreadCommit } from '../thread/thread-commit.ts';
import type { WorkflowDefinition } from '../workflow/definition.ts';
import { CorruptThread, WrongThreadState } from '../thread/thread-errors.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import { statusOfHead } from '../thread/thread-status.ts';
import { buildContext, type ContextPlace } from './build-context.ts';
import { chooseRole } from './choose-role.ts';
import { bindingFor } from './config.ts';
import type { EngineContext } from './context.ts';
import { decisionContext } from './decision-context.ts';
import { findFacts } from './facts.ts';
import { definitionOf } from './definition-of.ts';
import { UnknownRole } from './engine-errors.ts';
import { readSession } from './sessions.ts';

/** What the next agent of a thread would be told. */
export type ContextPreview = {
  thread: ThreadId;
  role: string;
  /** The agent's name in the configuration; null where this machine has none for the role. */
  agent: string | null;
  text: string;
  /** The length of `text`, in characters (UTF-16 code units). */
  characters: number;
};

/**
 * Writes what the next agent would be told, without running or storing anything; see `Engine.context`.
 * @param wantedRole another role than the one whose turn it is
 * @throws {WrongThreadState} if nobody is next, and no role is given
 */
export async function previewContext(
  context: EngineContext,
  thread: string,
  wantedRole?: string,
): Promise<ContextPreview> {
  const { repository, config } = context;
  const pointer = await getThread(repository, thread);
  const place = await findPlace(context, pointer);
  const definition = await definitionOf(context, place);
  // Deciding looks at every step; telling a role that is given looks at those since the thread was compacted.
  const choice = wantedRole === undefined ? await decideRole(context, pointer, definition) : { role: wantedRole };
  const { role, prompt: edgePrompt } = choice;
  const roleDefinition = definition.roles[role];
  if (!roleDefinition) throw new UnknownRole(definition.name, role, Object.keys(definition.roles));
  const agent = bindingFor(config, definition.name, role)?.name ?? null;
  const session = agent === null ? undefined : readSession(repository, { threadId: place.id, role, agent });
  const history = await readHistory(repository, place, { role, seen: session?.seen });
  const told = { role, definition: roleDefinition, edgePrompt, hasSession: history.seen !== undefined };
  const text = await buildContext(context, place, history, told);
  return { thread: place.id, role, agent, text, characters: text.length };
}

async function decideRole(
  context: EngineContext,
  pointer: ThreadPointer,
  definition: WorkflowDefinition,
): Promise<{ role: string; prompt?: string | undefined }> {
  const { repository } = context;
  const state = await readThread(repository, pointer.id, pointer.head);
  const decisions = await decisionContext(repository, state, definition.name);
  const choice = await chooseRole(context, definition, decisions, state, undefined);
  if (!('kind' in choice)) return choice;
  const status = statusOfHead(state.head, false);
  throw new WrongThreadState(state.id, status, 'no role is next', 'name one with --role');
}

/** Where a thread stands; its start is found without the chain where this machine remembers which commit that is. */
async function findPlace(context: EngineContext, { id, head }: ThreadPointer): Promise<ContextPlace> {
  const { repository } = context;
  const newest = await readThreadCommit(repository, head);
  const known = findFacts(repository, id, head);
  const start = await (known ? readThreadCommit(repository, known.startCommit) : readStart(repository, head));
  if (start?.kind !== 'start') throw new CorruptThread(head, 'its chain has no start');
  return { id, head: newest, start, prompt: await readTextAt(repository, start, 'prompt.md') };
}
