import type { Html } from '../html.ts';
import type { Answer } from '../../engine/verbs/ask.ts';
import { AskForm } from '../parts/thread-acts.tsx';
import { Page } from '../parts/layout.tsx';
import { SaidText } from '../parts/said-text.tsx';
import type { Visit } from '../site.ts';
import { PageLink } from '../parts/link.tsx';

/** What the agent of a step answered to a question, which is not stored. */
export async function answerPage(visit: Visit, question: string, answer: Answer): Promise<Html> {
  const { thread, role, agent, isSession, text, step } = answer;
  return (
    <Page site={visit.site} title={`${role} answers`}>
      <h1>{role} answers</h1>
      <p class="facts">
        <PageLink href={`/t/${thread}`}>{thread}</PageLink>
        <span>{agent}</span>
        <span>{isSession ? 'it remembers the step' : 'it was told of the step'}</span>
        <PageLink href={`/t/${thread}/${step}`}>the step</PageLink>
      </p>
      <div class="entry person">
        <h2>You asked</h2>
        <SaidText text={question} />
      </div>
      <div class="entry">
        <h2>{role}</h2>
        <SaidText text={text} />
      </div>
      <p class="quiet">Nothing of this is stored: it is gone when you leave this page.</p>
      <h2>Ask more</h2>
      <AskForm visit={visit} thread={thread} />
    </Page>
  );
}
