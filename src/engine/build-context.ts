import { formatInstruction } from '../agent/extract/format-instruction.ts';
import { assembleContext, assembleForPerson, DEFAULT_MAX_CHARACTERS } from '../thread/agent-context.ts';
import type { ContextParent, ContextParts } from '../thread/agent-context.ts';
import { toContextStep, type ContextHistory } from '../thread/context-history.ts';
import { readStart } from '../thread/read-start.ts';
import type { ThreadState } from '../thread/thread-state.ts';
import type { RoleDefinition } from '../workflow/definition.ts';
import type { RoleChoice } from './choose-role.ts';
import type { EngineContext } from './context.ts';

/** What is to be said to whom. */
export type ContextRequest = {
  role: string;
  definition: RoleDefinition;
  /** What the rule that chose the role says. */
  edgePrompt: string | undefined;
  /** True if the agent goes on in its session, and is not told again what that has seen. */
  hasSession: boolean;
  /** The step that is done again, and what a person says about it. */
  again?: RoleChoice['again'];
};

/** Where a thread stands, as far as it has to be known to tell an agent of it. */
export type ContextPlace = Pick<ThreadState, 'id' | 'head' | 'start' | 'prompt'>;

/** Writes what the agent of a role is told, from the thread as it stands; see `assembleContext`. */
export async function buildContext(
  context: EngineContext,
  state: ContextPlace,
  history: ContextHistory,
  request: ContextRequest,
): Promise<string> {
  return assembleContext(await partsOf(context, state, history, request));
}

/** Writes what a person is told who takes the turn; see `assembleForPerson`. */
export async function buildForPerson(
  context: EngineContext,
  state: ContextPlace,
  history: ContextHistory,
  request: ContextRequest,
): Promise<{ briefing: string; question: string }> {
  return assembleForPerson(await partsOf(context, state, history, request));
}

async function partsOf(
  context: EngineContext,
  state: ContextPlace,
  history: ContextHistory,
  request: ContextRequest,
): Promise<ContextParts> {
  const { description, systemPrompt, extractPrompt, schema } = request.definition;
  const { seen, ...all } = history;
  return {
    threadId: state.id,
    role: { name: request.role, description, systemPrompt, extractPrompt },
    instruction: await formatInstruction(schema),
    task: state.prompt,
    ...all,
    ...(request.hasSession && { seen }),
    edgePrompt: request.edgePrompt,
    again: request.again && {
      reply: toContextStep(request.again.step),
      word: request.again.word,
    },
    parent: await findParent(context, state),
    maxCharacters: context.config.context?.maxCharacters ?? DEFAULT_MAX_CHARACTERS,
  };
}

/** The caller of a child thread, found on the chain that the child's start stands on. */
async function findParent(context: EngineContext, state: ContextPlace): Promise<ContextParent | undefined> {
  const { parentState, parentRole } = state.start.node;
  const caller = state.start.commit.parents[0];
  if (parentState === null || parentRole === null || caller === undefined) return undefined;
  const start = await readStart(context.repository, caller);
  if (!start) return undefined;
  return { thread: start.node.id, role: parentRole, stateHash: parentState, promptHash: start.node.prompt };
}
