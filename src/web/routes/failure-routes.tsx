import { TurnNotFound } from '../../engine/describe/find-turn.ts';
import { UwfError } from '../../errors.ts';
import { MessagePage } from '../pages/message-page.tsx';
import type { WebApp, WebContext } from './web-app.ts';

/** What is said where there is no page, and where one fails. */
export function addFailures(app: WebApp): void {
  app.notFound((context) =>
    context.html(<MessagePage title="Not found" text="There is no such page." again="/" />, 404),
  );
  app.onError((error, context) => answerFailure(context, error));
}

/**
 * Tells of an error.
 * @param typed what was typed into the form that did nothing: it is shown, so that it is not lost
 * @param again where to look again; default: the list of threads
 */
export function answerFailure(
  context: WebContext,
  error: unknown,
  { typed, again = '/' }: { typed?: URLSearchParams; again?: string } = {},
): Response | Promise<Response> {
  const { status, hint } = explain(error);
  const title = status === 404 ? 'Not found' : status === 409 ? 'Someone else was faster' : 'This did not work';
  const text = error instanceof Error ? error.message : String(error);
  return context.html(<MessagePage title={title} text={text} hint={hint} typed={typed} again={again} />, status);
}

/** What a user has to correct in a workflow file. */
const ofWorkflowFiles: readonly string[] = ['invalid-workflow', 'source-unreadable'];

/** How an error is told: uwf's own ones by their kind. */
function explain(error: unknown): { status: 400 | 403 | 404 | 409 | 500; hint?: string | undefined } {
  if (!(error instanceof UwfError)) return { status: 500 };
  const { code, kind, hint } = error;
  if (code.endsWith('-not-found') || error instanceof TurnNotFound) return { status: 404, hint };
  if (kind === 'refused' || code === 'not-trusted') return { status: 403, hint };
  if (kind === 'conflict') return { status: 409, hint };
  const isUsers = kind === 'usage' || kind === 'agent' || ofWorkflowFiles.includes(code);
  return { status: isUsers ? 400 : 500, hint };
}
