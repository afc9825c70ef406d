import { TurnNotFound } from '../../engine/describe/find-turn.ts';
import { UwfError } from '../../errors.ts';
import { MessagePage } from '../pages/message-page.tsx';
import type { WebApp } from './web-app.ts';

/** What is said where there is no page, and where one fails. */
export function addFailures(app: WebApp): void {
  app.notFound((context) =>
    context.html(<MessagePage title="Not found" text="There is no such page." again="/" />, 404),
  );
  app.onError((error, context) => {
    const { status, hint } = explain(error);
    const text = error.message;
    return context.html(
      <MessagePage title={status === 404 ? 'Not found' : 'This did not work'} text={text} hint={hint} />,
      status,
    );
  });
}

/** How an error is told: uwf's own ones by their kind. */
function explain(error: Error): { status: 400 | 403 | 404 | 409 | 500; hint?: string | undefined } {
  if (!(error instanceof UwfError)) return { status: 500 };
  const { code, kind, hint } = error;
  if (code.endsWith('-not-found') || error instanceof TurnNotFound) return { status: 404, hint };
  if (kind === 'refused') return { status: 403, hint };
  if (kind === 'conflict') return { status: 409, hint };
  return { status: kind === 'usage' ? 400 : 500, hint };
}
