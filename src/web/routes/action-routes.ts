import { UwfError } from '../../errors.ts';
import { getThread } from '../../thread/find/find-thread.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { Sessions } from '../guard/session.ts';
import type { Site, WebActions } from '../site.ts';
import { limitBody } from './guard-routes.tsx';
import type { WebApp } from './web-app.ts';

/** The longest form: an answer. */
const MAX_BODY_BYTES = 4 * 1024 * 1024;

type Act = (actions: WebActions, thread: ThreadId, form: URLSearchParams) => Promise<void>;

/** What forms on a thread do. */
const acts: Readonly<Record<string, Act>> = {
  resume: (actions, thread, form) => actions.resume(thread, { answer: form.get('answer') || undefined }),
};

/** What visitors do: a form that is not one of ours does nothing, and a thread is shown when its form was done. */
export function addActions(app: WebApp, site: Site, sessions: Sessions): void {
  const { actions, engine } = site;
  app.use(limitBody(MAX_BODY_BYTES));
  for (const [name, act] of Object.entries(acts)) {
    app.post(`/t/:thread/${name}`, async (context) => {
      if (actions === undefined)
        throw new UwfError('this page only shows', {
          code: 'read-only',
          kind: 'refused',
          hint: "'uwf web --write' lets visitors act",
        });
      const form = new URLSearchParams(await context.req.text());
      if (!sessions.isFormToken(context.get('session'), form.get('form'))) {
        throw new UwfError('the form is not from this page, or is old', {
          code: 'foreign-form',
          kind: 'refused',
          hint: 'load the page again',
        });
      }
      const { id, head } = await getThread(engine.repository, context.req.param('thread') ?? '');
      // What was seen when the answer was written has changed: that is said, and nothing is done.
      if (form.has('head') && form.get('head') !== head) throw new ThreadMovedOn(id);
      await act(actions, id, form);
      return context.redirect(`/t/${id}`, 303);
    });
  }
}

/** The thread has gone on since its form was shown. */
class ThreadMovedOn extends UwfError {
  constructor(thread: ThreadId) {
    super(`thread ${thread} has gone on since you opened its form; nothing was changed`, {
      code: 'thread-moved',
      kind: 'conflict',
      hint: 'another person may have answered: look at the thread again',
    });
  }
}
