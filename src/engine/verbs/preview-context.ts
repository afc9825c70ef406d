import { readThread } from '../../thread/read/thread-state.ts';
import { findStart } from '../../thread/read/read-start.ts';
import { getThread, type ThreadPointer } from '../../thread/find/find-thread.ts';
import { readHistory } from '../../thread/context/context-history.ts';
import { readTextAt, readThreadCommit } from '../../thread/format/thread-commit.ts';
import { CorruptThread, WrongThreadState } from '../../thread/thread-errors.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { statusOfHead } from '../../thread/read/thread-status.ts';
import { assembleContext } from '../../thread/context/agent-context.ts';
import { chooseRole, openStep } from '../turn/decide.ts';
import { contextParts, getRole, type ContextPlace } from '../turn/prepare.ts';
import type { RoleChoice } from '../turn/step.ts';
import { bindingFor } from '../config/config.ts';
import type { EngineContext } from '../engine-context.ts';
import { findFacts } from '../describe/facts.ts';
import { definitionOf } from '../children/sub-workflow.ts';
import { readSession } from '../agents/sessions.ts';

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
 * @throws {WrongThreadState} if no role is next, and none is given
 */
export async function previewContext(
  engine: EngineContext,
  thread: string,
  wantedRole?: string,
): Promise<ContextPreview> {
  const { repository, config } = engine;
  const pointer = await getThread(repository, thread);
  const place = await findPlace(engine, pointer);
  const definition = await definitionOf(engine, place);
  // Deciding looks at every step; telling a role that is given looks at those since the thread was compacted.
  const choice = wantedRole === undefined ? await decideRole(engine, pointer) : { role: wantedRole };
  const { role } = choice;
  const roleDefinition = getRole(definition, role);
  const agent = bindingFor(config, definition.name, role)?.name ?? null;
  const session = agent === null ? undefined : readSession(repository, { threadId: place.id, role, agent });
  const history = await readHistory(repository, place, { role, seen: session?.seen });
  const text = assembleContext(await contextParts(engine, place, history, { ...choice, definition: roleDefinition }));
  return { thread: place.id, role, agent, text, characters: text.length };
}

async function decideRole(engine: EngineContext, { id, head }: ThreadPointer): Promise<RoleChoice> {
  const state = await readThread(engine.repository, id, head);
  const choice = await chooseRole(await openStep(engine, state));
  if (choice.kind === 'role') return choice;
  const status = statusOfHead(state.head);
  throw new WrongThreadState(state.id, status, 'no role is next', 'name one with --role');
}

/** Where a thread stands; its start is found without the chain where this machine remembers which commit that is. */
async function findPlace(engine: EngineContext, { id, head }: ThreadPointer): Promise<ContextPlace> {
  const { repository } = engine;
  const newest = await readThreadCommit(repository, head);
  const known = findFacts(repository, id, head);
  const start = await (known ? readThreadCommit(repository, known.startCommit) : findStart(repository, head));
  if (start?.kind !== 'start') throw new CorruptThread(head, 'its chain has no start');
  return { id, head: newest, start, prompt: await readTextAt(repository, start, 'prompt.md') };
}
