import { readThread } from '../thread/thread-state.ts';
import { getThread } from '../thread/find-thread.ts';
import { WrongThreadState } from '../thread/thread-errors.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import { statusOfHead } from '../thread/thread-status.ts';
import { buildContext } from './build-context.ts';
import { chooseRole } from './choose-role.ts';
import { bindingFor } from './config.ts';
import type { EngineContext } from './context.ts';
import { decisionContext } from './decision-context.ts';
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
  const state = await readThread(repository, pointer.id, pointer.head);
  const definition = await definitionOf(context, state);
  const decisions = await decisionContext(repository, state, definition.name);
  const choice = await chooseRole(definition, decisions, state, wantedRole);
  if ('kind' in choice) {
    const status = statusOfHead(state.head, false);
    throw new WrongThreadState(state.id, status, 'no role is next', 'name one with --role');
  }
  const { role } = choice;
  const roleDefinition = definition.roles[role];
  if (!roleDefinition) throw new UnknownRole(definition.name, role, Object.keys(definition.roles));
  const agent = bindingFor(config, definition.name, role)?.name ?? null;
  const hasSession = agent !== null && readSession(repository, { threadId: state.id, role, agent }) !== undefined;
  const told = { role, definition: roleDefinition, edgePrompt: choice.prompt, hasSession };
  const text = await buildContext(context, state, decisions, told);
  return { thread: state.id, role, agent, text, characters: text.length };
}
