import { formatInstruction } from '../agent/extract/format-instruction.ts';
import { assembleContext, DEFAULT_MAX_CHARACTERS, type ContextParent } from '../thread/agent-context.ts';
import { toContextStep, type ContextHistory } from '../thread/context-history.ts';
import { readStart } from '../thread/find-children.ts';
import { readTextAt } from '../thread/thread-commit.ts';
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
  /** True if an agent on this machine remembers the role's earlier turns. */
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
  const { description, systemPrompt, extractPrompt, schema } = request.definition;
  return assembleContext({
    threadId: state.id,
    role: { name: request.role, description, systemPrompt, extractPrompt },
    instruction: await formatInstruction(schema),
    task: state.prompt,
    ...history,
    edgePrompt: request.edgePrompt,
    answer: await readAnswer(context, state),
    again: request.again && {
      reply: toContextStep(request.again.step),
      word: request.again.word,
    },
    parent: await findParent(context, state),
    hasSession: request.hasSession,
    maxCharacters: context.config.context?.maxCharacters ?? DEFAULT_MAX_CHARACTERS,
  });
}

/** What a person answered, where the thread goes on from a suspension. */
export async function readAnswer(context: EngineContext, state: ContextPlace): Promise<string | undefined> {
  const { head } = state;
  if (head.kind !== 'resume' || head.node.answer === null) return undefined;
  return readTextAt(context.repository, head, 'answer.md');
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
