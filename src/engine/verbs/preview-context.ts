import type { AgentBinding } from '../../agent/load/agent-binding.ts';
import type { WorkflowDefinition } from '../../workflow/definition.ts';
import { readState, statusOfHead, type ThreadState } from '../../thread/thread-state.ts';
import { getThread } from '../../thread/find-thread.ts';
import { readHistory } from '../../thread/context-history.ts';
import { WrongThreadState } from '../../thread/thread-errors.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { assembleContext, type ContextParts } from '../../thread/agent-context.ts';
import { chooseRole, openStep } from '../turn/decide.ts';
import { contextParts, getRole } from '../turn/prepare.ts';
import type { RoleChoice } from '../turn/step.ts';
import { bindingFor, roomFor } from '../config/config.ts';
import type { Deciding } from '../engine-context.ts';
import { definitionOf } from '../children/sub-workflow.ts';
import { readSession } from '../turn/step-folder.ts';

export type ContextPreview = {
  thread: ThreadId;
  role: string;
  /** The agent's name in the configuration; null where this machine has none for the role. */
  agent: string | null;
  text: string;
  /** The length of `text`, in characters (UTF-16 code units). */
  characters: number;
};

/** See `Engine.context`. @throws {WrongThreadState} if no role is next, and none is given */
export async function previewContext(engine: Deciding, thread: string, wantedRole?: string): Promise<ContextPreview> {
  const pointer = await getThread(engine.repository, thread);
  const state = await readState(engine.repository, pointer.id, pointer.head);
  const definition = await definitionOf(engine, state);
  const choice = wantedRole === undefined ? await decideRole(engine, state) : { role: wantedRole };
  const { role } = choice;
  const { agent, parts } = await partsForRole(engine, { state, definition }, choice);
  const text = assembleContext(parts);
  return { thread: state.id, role, agent: agent?.name ?? null, text, characters: text.length };
}

/** Gathers what the agent of a role would be told, which is also given; `undefined` where this machine has none. */
export async function partsForRole(
  engine: Deciding,
  { state, definition }: { state: ThreadState; definition: WorkflowDefinition },
  choice: Partial<RoleChoice> & { role: string },
): Promise<{ agent: AgentBinding | undefined; parts: ContextParts }> {
  const { repository, config } = engine;
  const { role } = choice;
  const roleDefinition = getRole(definition, role);
  const agent = bindingFor(config, definition.name, role);
  const session = agent && readSession(repository, { threadId: state.id, role, agent: agent.name });
  const history = await readHistory(repository, state, { role, seen: session?.seen, maxCharacters: roomFor(config) });
  return { agent, parts: await contextParts(engine, state, history, { ...choice, definition: roleDefinition }) };
}

/** @throws {WrongThreadState} if no role is next */
export async function decideRole(engine: Deciding, state: ThreadState): Promise<RoleChoice> {
  const choice = await chooseRole(await openStep(engine, state));
  if (choice.kind === 'role') return choice;
  const status = statusOfHead(state.head);
  throw new WrongThreadState(state.id, status, 'no role is next', 'name one with --role');
}
