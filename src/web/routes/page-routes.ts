import type { Html } from '../html.ts';
import { costPage } from '../pages/cost-page.tsx';
import { diffPage } from '../pages/diff-page.tsx';
import { inboxPage } from '../pages/inbox-page.tsx';
import { stepPage } from '../pages/step-page.tsx';
import { stepText } from '../pages/step-text.ts';
import { startPage } from '../pages/start-page.tsx';
import { threadPage } from '../pages/thread-page.tsx';
import { threadsPage } from '../pages/threads-page.tsx';
import { workflowPage } from '../pages/workflow-page.tsx';
import { workflowsPage } from '../pages/workflows-page.tsx';
import type { Visit } from '../site.ts';
import type { VisitOf, WebApp } from './web-app.ts';

type Page = (visit: Visit, parameter: (name: string) => string) => Promise<Html>;

/** What is shown at which address. */
const pages: Readonly<Record<string, Page>> = {
  '/': threadsPage,
  '/inbox': inboxPage,
  '/start': (visit) => startPage(visit),
  '/t/:thread': (visit, parameter) => threadPage(visit, parameter('thread')),
  '/t/:thread/:step': (visit, parameter) => stepPage(visit, parameter('thread'), parameter('step')),
  '/diff/:range': (visit, parameter) => diffPage(visit, parameter('range')),
  '/w': workflowsPage,
  '/w/:workflow': (visit, parameter) => workflowPage(visit, parameter('workflow')),
  '/cost': costPage,
};

/** The pages, which change nothing. */
export function addPages(app: WebApp, visitOf: VisitOf): void {
  for (const [path, page] of Object.entries(pages)) {
    app.get(path, async (context) =>
      context.html(await page(visitOf(context), (name) => context.req.param(name) ?? '')),
    );
  }
  app.get('/t/:thread/:step/text', async (context) => {
    const { thread, step } = context.req.param();
    return context.text(await stepText(visitOf(context).site, thread, step));
  });
}
