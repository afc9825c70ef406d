import type { EngineContext } from '../../engine/engine-context.ts';
import { describeThread, type ThreadView } from '../../engine/describe/describe.ts';
import { UwfError } from '../../errors.ts';
import { findThread, getThread } from '../../thread/find-thread.ts';
import type { ThreadId, ThreadPointer } from '../../thread/thread-id.ts';
import { isOver } from '../../thread/thread-state.ts';
import { ThreadMoved } from '../../thread/thread-errors.ts';
import {
  answerFailure,
  limitBody,
  type Sessions,
  type VisitOf,
  type WebApp,
  type WebContext,
} from './guard-routes.tsx';
import { answerPage, startPage } from '../pages/start-page.tsx';
import { threadPage } from '../pages/thread-page.tsx';
import { listStartable, readAnswerForm, readQuestion } from '../questions/read-question.ts';
import type { SeenThread, Visit, WebActions } from '../site.ts';

/** The longest form: an answer. */
const MAX_BODY_BYTES = 4 * 1024 * 1024;

/** A form on a thread, from a visitor who may send it. */
type Sent = {
  context: WebContext;
  visit: Visit;
  actions: WebActions;
  pointer: ThreadPointer;
  form: URLSearchParams;
};

type Done = Response | Promise<Response>;

const acts: Readonly<Record<string, (sent: Sent) => Promise<Done>>> = {
  resume,
  poke: async (sent) => {
    const { actions, pointer, form } = sent;
    assertSeen(sent);
    await actions.poke(pointer.id, wordsIn(form, 'word', 'say what is to be different'), pointer.head);
    return toThread(sent);
  },
  fork: async ({ context, actions, pointer, form }) => {
    const fork = await actions.fork(pointer.id, stepIn(form));
    return context.redirect(`/t/${fork}`, 303);
  },
  ask: async ({ context, visit, actions, pointer, form }) => {
    const question = wordsIn(form, 'question', 'ask something');
    const answer = await actions.ask(pointer.id, question, stepIn(form));
    return context.html(await answerPage(visit, question, answer));
  },
  cancel: async (sent) => {
    const { actions, pointer, form } = sent;
    assertSeen(sent);
    await actions.cancel(pointer.id, form.get('reason')?.trim() || undefined);
    return toThread(sent);
  },
  stop: async (sent) => {
    await sent.actions.stop(sent.pointer.id);
    return toThread(sent);
  },
};

/** What visitors do. A form that is not one of ours does nothing; what was typed into one that fails is shown again. */
export function addActions(app: WebApp, visitOf: VisitOf, sessions: Sessions): void {
  app.use(limitBody(MAX_BODY_BYTES));
  const onForm = (path: string, act: (sent: Omit<Sent, 'pointer'>) => Promise<Done>): void => {
    app.post(path, async (context) => {
      const visit = visitOf(context);
      const { actions } = visit.site;
      const form = new URLSearchParams(await context.req.text());
      if (actions === undefined)
        throw refusal('read-only', 'this page only shows', "'uwf web --write' lets visitors act");
      if (!sessions.isFormToken(context.get('session'), form.get('form'))) {
        throw refusal('foreign-form', 'the form is not from this page, or is old', 'load the page again');
      }
      try {
        return await act({ context, visit, actions, form });
      } catch (error) {
        return answerFailure(context, error, { typed: form, again: pageOf(context) });
      }
    });
    // The address of a form that was refused, loaded once more.
    if (path.startsWith('/t/')) app.get(path, (context) => context.redirect(pageOf(context), 303));
  };
  for (const [name, act] of Object.entries(acts)) {
    onForm(`/t/:thread/${name}`, async (sent) => {
      const pointer = await getThread(sent.visit.site.engine.repository, sent.context.req.param('thread') ?? '');
      return act({ ...sent, pointer });
    });
  }
  onForm('/start', async ({ context, visit, actions, form }) => {
    const [workflow, prompt] = [form.get('workflow') ?? '', form.get('prompt')?.replaceAll('\r\n', '\n').trim() ?? ''];
    // Only what has a name here: a path would read any file.
    const isKnown = (await listStartable(visit.site.engine)).some(({ name }) => name === workflow);
    const wrong = {
      workflow: isKnown ? '' : 'choose a workflow',
      prompt: prompt === '' ? 'say what is to be done' : '',
    };
    if (wrong.workflow || wrong.prompt) return context.html(await startPage(visit, { workflow, prompt, wrong }), 422);
    return context.redirect(`/t/${await actions.start(workflow, prompt)}`, 303);
  });
}

/** Answers what a thread waits for, or lets it go on. */
async function resume(sent: Sent): Promise<Done> {
  const { context, visit, actions, pointer, form } = sent;
  const { engine } = visit.site;
  assertSeen(sent);
  const question = await readQuestion(engine, await describeThread(engine, pointer.id));
  if (question !== undefined) {
    const { asking } = question;
    // A child may have been answered by itself: its parent stands where it stood.
    if (form.get('asked') !== `${asking.thread}@${asking.head}`) throw movedOn(pointer);
    const answer = await readAnswerForm(question, form);
    if (answer.kind === 'again') {
      return context.html(await threadPage(visit, pointer.id, answer), answer.errors.length > 0 ? 422 : 200);
    }
    await actions.resume(pointer.id, answer.given, pointer.head, await othersAsking(engine, asking, pointer.id));
  } else await actions.resume(pointer.id, {}, pointer.head, []);
  return toThread(sent);
}

/** The threads besides one whose question it is as well: the one that asks, and those that called it and are not over. */
async function othersAsking(engine: EngineContext, asking: ThreadView, answered: ThreadId): Promise<SeenThread[]> {
  // A thread can be made to name itself as its caller.
  const found = new Map<ThreadId, SeenThread>();
  let view = asking;
  while (!found.has(view.thread) && !isOver(view.status)) {
    found.set(view.thread, { id: view.thread, head: view.head });
    const caller = view.parent === null ? undefined : await findThread(engine.repository, view.parent);
    if (caller !== undefined) view = await describeThread(engine, caller.id);
  }
  found.delete(answered);
  return [...found.values()];
}

/** What was seen when the form was filled in has changed: that is said, and nothing is done. */
function assertSeen({ form, pointer }: Sent): void {
  if (form.get('head') !== pointer.head) throw movedOn(pointer);
}

function movedOn({ id, head }: ThreadPointer): ThreadMoved {
  return new ThreadMoved(id, undefined, head);
}

function toThread({ context, pointer }: Sent): Response {
  return context.redirect(`/t/${pointer.id}`, 303);
}

function pageOf(context: WebContext): string {
  const thread = context.req.param('thread');
  return thread === undefined ? context.req.path : `/t/${encodeURIComponent(thread)}`;
}

function wordsIn(form: URLSearchParams, name: string, missing: string): string {
  const words = form.get(name)?.replaceAll('\r\n', '\n').trim() ?? '';
  if (words === '') throw new UwfError(`nothing was typed: ${missing}`, { code: 'nothing-typed', kind: 'usage' });
  return words;
}

/** The number of a step; absent for the newest. */
function stepIn(form: URLSearchParams): number | undefined {
  const text = form.get('step')?.trim() ?? '';
  if (text !== '' && !/^\d{1,9}$/u.test(text)) {
    throw new UwfError(`'${text}' is not the number of a step`, { code: 'no-step-number', kind: 'usage' });
  }
  return text === '' ? undefined : Number(text);
}

function refusal(code: string, message: string, hint: string): UwfError {
  return new UwfError(message, { code, kind: 'refused', hint });
}
