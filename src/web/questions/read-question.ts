import { replyTemplate } from '../../agent/human/answer-reply.ts';
import { definitionOf } from '../../engine/children/sub-workflow.ts';
import { describeThread, type ThreadView } from '../../engine/describe/describe.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import { findLimitWaitedAt } from '../../engine/limits/allowance.ts';
import { limitOptions, type LimitReached } from '../../engine/limits/limits.ts';
import type { JsonObject } from '../../json.ts';
import { limitBounds } from '../../schema/built-in/schema-parts.ts';
import type { SuspensionOutline } from '../../thread/context/exchange.ts';
import { readState } from '../../thread/thread-state.ts';
import { asksForWords } from '../../thread/thread-status.ts';
import { findRole } from '../../workflow/definition.ts';
import { formOf, type FormShape } from '../forms/read-form-fields.ts';

/** What a suspended thread waits for. */
export type WaitingQuestion = {
  /** The thread that is resumed. */
  view: ThreadView;
  /** The thread that asks: the same, or a child of it. */
  asking: ThreadView;
  suspension: SuspensionOutline;
} & Wanted;

type Wanted =
  /** A reply of a role, with what its schema asks for. */
  | { kind: 'reply'; schema: JsonObject; shape: FormShape }
  /** Words. With a schema: a reply that has no form, and so its front matter is written by hand. */
  | { kind: 'text'; schema?: JsonObject; template?: string }
  | { kind: 'permission' }
  /** How much more than its limits the thread may use. */
  | { kind: 'limit'; schema: JsonObject; shape: FormShape; reached: LimitReached | undefined }
  /** Nothing but that it goes on. */
  | { kind: 'again' };

const limitSchema: JsonObject = {
  type: 'object',
  properties: Object.fromEntries(limitOptions.map(([name]) => [name, limitBounds[name]])),
  additionalProperties: false,
};

/** What a limit's field is called. */
const moreOf: Readonly<Record<string, string>> = {
  maxSteps: 'more steps of the thread',
  maxVisits: 'more steps of each role',
  maxTurns: 'more turns of models',
  maxTokens: 'more tokens, in and out',
  maxCostUsd: 'more US dollars',
};

/** What a person allows when they raise a limit: `more tokens, in and out`. */
export function nameOfLimit(name: string): string {
  return moreOf[name] ?? name;
}

const limitShape: FormShape = {
  constants: {},
  fields: limitOptions.map(([name]) => ({
    kind: 'number',
    name,
    label: nameOfLimit(name),
    words: '',
    isRequired: false,
    isNull: false,
  })),
};

/** Reads what a suspended thread waits for, or the child of it that asks; `undefined` for a thread that is not suspended. */
export async function readQuestion(engine: EngineContext, view: ThreadView): Promise<WaitingQuestion | undefined> {
  const asking = view.waitsFor === null ? view : await describeThread(engine, view.waitsFor);
  const { suspension } = asking;
  if (view.suspension === null || suspension === null) return undefined;
  return { view, asking, suspension, ...(await wantedBy(engine, asking, suspension)) };
}

async function wantedBy(
  engine: EngineContext,
  { thread, head }: ThreadView,
  suspension: SuspensionOutline,
): Promise<Wanted> {
  const { cause, role } = suspension;
  if (cause === 'permission') return { kind: 'permission' };
  if (cause !== 'limit' && !asksForWords(suspension)) return { kind: 'again' };
  if (cause === 'agent') return { kind: 'text' };
  const state = await readState(engine.repository, thread, head);
  if (cause === 'limit') {
    // A limit of this machine's configuration is not known here: then the field is empty.
    return { kind: 'limit', schema: limitSchema, shape: limitShape, reached: await findLimitWaitedAt(engine, state) };
  }
  const schema = findRole(await definitionOf(engine, state), role)?.schema ?? {};
  const shape = formOf(schema);
  if (shape === undefined) return { kind: 'text', schema, template: replyTemplate(schema) };
  return shape.fields.length === 0 ? { kind: 'text' } : { kind: 'reply', schema, shape };
}

/**
 * Splits the reason with which a turn waits for a permission: what would be done, and how to allow it for good. `undefined` for
 * another text.
 */
export function splitPermission(reason: string): { deed: string; howTo: string } | undefined {
  // The agent's words of the deed can contain the words that uwf adds, so the last of these are looked for.
  const [, deed, howTo] =
    /^.*? asks for a permission: ([^]*)(?:;|\n) ?(answer it with yes or no[^]*)$/u.exec(reason) ?? [];
  return deed === undefined || howTo === undefined ? undefined : { deed, howTo };
}

/** Removes the template of an answer from the end of a role's text, because the page shows a form for it. */
export function withoutTemplate(text: string): string {
  return text.replace(/(?:^|\n\n)---\n[^]*\n---\s*$/u, '');
}
