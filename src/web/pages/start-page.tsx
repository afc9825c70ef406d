import type { Answer } from '../../engine/verbs/ask.ts';
import { CommandToPaste, type Html, Page, PageLink } from '../parts/page.tsx';
import { SaidText } from '../parts/said-text.tsx';
import { ActForm, AskForm } from '../parts/thread-acts.tsx';
import { listStartable, type StartableWorkflow } from '../questions/read-question.ts';
import type { Visit } from '../site.ts';

type Typed = { workflow: string; prompt: string; wrong: Record<'workflow' | 'prompt', string> };

export async function startPage(visit: Visit, typed?: Typed): Promise<Html> {
  const { site, url } = visit;
  const workflows = await listStartable(site.engine);
  const begun = typed ?? {
    workflow: url.searchParams.get('workflow') ?? '',
    prompt: '',
    wrong: { workflow: '', prompt: '' },
  };
  return (
    <Page site={site} title="Start a thread" place="/start">
      <h1>Start a thread</h1>
      {workflows.length === 0 ? (
        <>
          <p>There is no workflow yet. This brings one that works as it is:</p>
          <CommandToPaste command="uwf init --with find-regression" />
        </>
      ) : site.actions ? (
        <StartForm visit={visit} workflows={workflows} typed={begun} />
      ) : (
        <>
          <p class="quiet">This page only shows. To start a thread, paste at a terminal:</p>
          <CommandToPaste command={`uwf run ${begun.workflow || workflows[0]?.name} -p '…'`} />
        </>
      )}
    </Page>
  );
}

type StartFormProps = { visit: Visit; workflows: readonly StartableWorkflow[]; typed: Typed };

function StartForm({ visit, workflows, typed: { workflow, prompt, wrong } }: StartFormProps): Html {
  return (
    <ActForm visit={visit} action="/start" id="start">
      <div class="field">
        <label for="workflow">Workflow</label>
        <select id="workflow" name="workflow" {...wrongAttributes('workflow', wrong)}>
          {workflows.map(({ name, description }) => (
            <option value={name} selected={name === workflow}>
              {description === '' ? name : `${name}: ${description}`}
            </option>
          ))}
        </select>
        <Wrong name="workflow" wrong={wrong} />
      </div>
      <div class="field">
        <label for="prompt">What is to be done</label>
        <textarea id="prompt" name="prompt" rows={8} aria-required="true" {...wrongAttributes('prompt', wrong)}>
          {prompt}
        </textarea>
        <Wrong name="prompt" wrong={wrong} />
      </div>
      <button type="submit">Start and run</button>
    </ActForm>
  );
}

type Field = keyof Typed['wrong'];

function wrongAttributes(name: Field, wrong: Typed['wrong']): Record<string, string> {
  return wrong[name] === '' ? {} : { 'aria-invalid': 'true', 'aria-describedby': `${name}-refusal` };
}

function Wrong({ name, wrong }: { name: Field; wrong: Typed['wrong'] }): Html | null {
  return wrong[name] === '' ? null : (
    <p class="refusal" id={`${name}-refusal`}>
      {wrong[name]}
    </p>
  );
}

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
