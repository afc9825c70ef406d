import { replyTemplate } from '../../agent/human/answer-reply.ts';
import { threadToAnswer, type ThreadView } from '../../engine/describe/describe.ts';
import { limitOptions } from '../../engine/limits/limits.ts';
import { formatTime, shellQuoted } from '../../text/wording.ts';
import {
  readQuestion,
  splitPermission,
  type TypedAnswer,
  type WaitingQuestion,
  withoutTemplate,
  WORDS,
} from '../questions/read-question.ts';
import type { Visit } from '../site.ts';
import { CommandToPaste, type Html, PageLink } from './page.tsx';
import { ReplyText } from './said-text.tsx';
import { FormFields, type FormState, onlyChoice } from './schema-form.tsx';
import { ActForm } from './thread-acts.tsx';

type AnswerProps = {
  visit: Visit;
  view: ThreadView;
  /** What was typed, and is not taken. */
  again?: TypedAnswer | undefined;
  /** Whether what the role said stands elsewhere on the page. */
  isBelowStory?: boolean;
};

/** What a suspended thread waits for, and the form that answers it; the command where the page may not write. */
export async function AnswerPanel({ visit, view, again, isBelowStory = false }: AnswerProps): Promise<Html | null> {
  const question = await readQuestion(visit.site.engine, view);
  if (question === undefined) return null;
  const { asking, suspension } = question;
  const { thread } = view;
  const isOfChild = asking.thread !== thread;
  const titleId = `asks-${thread}`;
  return (
    <section
      class="answer"
      // In the inbox, two threads can have the same task and role: landmarks of one name would be no help.
      role={isBelowStory ? undefined : 'group'}
      id={`answer-${thread}`}
      data-question={suspension.suspension}
      aria-labelledby={isBelowStory ? titleId : `${titleId} task-${thread}`}
    >
      <h2 id={titleId}>
        {suspension.role} {claims[question.kind]}
      </h2>
      <Reason question={question} />
      {isOfChild && (
        <p class="quiet">
          The question is that of {asking.branch === null ? 'the child thread' : `branch ${asking.branch.key},`}{' '}
          <PageLink href={`/t/${asking.thread}`}>{asking.thread}</PageLink>.
        </p>
      )}
      {(isOfChild || !isBelowStory) && (
        <ReplyText text={suspension.cause === 'human' ? withoutTemplate(suspension.text) : suspension.text} />
      )}
      <Refused question={question} />
      {visit.site.actions ? (
        <AnswerForm visit={visit} question={question} again={again} />
      ) : (
        <Paste question={question} />
      )}
    </section>
  );
}

const claims: Readonly<Record<WaitingQuestion['kind'], string>> = {
  reply: 'asks you',
  text: 'asks you',
  permission: 'asks for a permission',
  limit: 'has reached a limit',
  again: 'waits to go on',
};

/** Of a permission, the deed stands by itself: that is what a person decides about. */
function Reason({ question }: { question: WaitingQuestion }): Html {
  const { reason } = question.suspension;
  const permission = question.kind === 'permission' ? splitPermission(reason) : undefined;
  if (permission === undefined) return <p class="reason">{reason}</p>;
  return (
    <>
      <pre class="plain deed">{permission.deed}</pre>
      <details>
        <summary>How to allow it for good</summary>
        <p class="reason quiet">{permission.howTo}</p>
      </details>
    </>
  );
}

function Refused({ question }: { question: WaitingQuestion }): Html | null {
  const errors = question.suspension.refused?.at(-1)?.errors ?? [];
  if (errors.length === 0) return null;
  return (
    <div class="refusal">
      <p>The last reply was not accepted:</p>
      <ul>
        {errors.map((error) => (
          <li>{error}</li>
        ))}
      </ul>
    </div>
  );
}

function Paste({ question }: { question: WaitingQuestion }): Html {
  return (
    <>
      <p class="quiet">This page only shows. To answer, paste at a terminal:</p>
      <CommandToPaste command={commandToAnswer(question)} />
    </>
  );
}

type FormProps = { visit: Visit; question: WaitingQuestion; again: TypedAnswer | undefined };

function AnswerForm({ visit, question, again }: FormProps): Html {
  const { view, asking, suspension } = question;
  const { thread } = view;
  const answered = threadToAnswer(view, asking);
  // Names the question: what was typed into a field stays in the field of that name when the page changes.
  const id = `${thread}-${suspension.suspension}`;
  const state: FormState = {
    id,
    typed: again?.typed ?? firstTyped(question),
    errors: again?.errors ?? [],
  };
  return (
    <ActForm visit={visit} action={`/t/${answered.thread}/resume`} id={`form-${id}`} head={answered.head}>
      <input type="hidden" name="asked" value={`${asking.thread}@${asking.head}`} />
      <WhatIsWrong state={state} />
      <Fields question={question} state={state} />
    </ActForm>
  );
}

/** What a form begins with: how much more a limit needs, or the front matter to fill in. */
function firstTyped(question: WaitingQuestion): URLSearchParams {
  if (question.kind === 'limit' && question.reached !== undefined) {
    return new URLSearchParams({ [`/${question.reached.name}`]: String(question.reached.missing) });
  }
  return new URLSearchParams(question.kind === 'text' && question.template ? { [WORDS]: question.template } : {});
}

/** What is wrong, above the fields: it is read first, and leads to them. */
function WhatIsWrong({ state: { errors } }: { state: FormState }): Html | null {
  if (errors.length === 0) return null;
  return (
    <div class="refusal wrong" role="alert" tabindex={-1} autofocus>
      <p>This is not an answer yet; nothing was stored.</p>
      <ul>
        {errors.map(({ path, message }) => (
          <li>{path === '' ? message : `${path.replace(/^\//u, '').replaceAll('/', ' ')} ${message}`}</li>
        ))}
      </ul>
    </div>
  );
}

function Fields({ question, state }: { question: WaitingQuestion; state: FormState }): Html {
  switch (question.kind) {
    case 'reply': {
      const only = onlyChoice(question.shape);
      if (only === undefined) {
        return (
          <>
            <FormFields shape={question.shape} at="" state={state} />
            <Words state={state} label="What else there is to say" isOptional />
            <button type="submit">Answer and run on</button>
          </>
        );
      }
      return (
        <>
          <Words state={state} label="What there is to say" isOptional />
          <div class="buttons" role="group" aria-label={only.field.label}>
            {only.choices.map(({ word }) => (
              <button type="submit" name={`/${encodeURIComponent(only.field.name)}`} value={word}>
                {word}
              </button>
            ))}
          </div>
        </>
      );
    }
    case 'text':
      return (
        <>
          <Words state={state} label="Answer" rows={question.template === undefined ? 4 : 10} />
          <button type="submit">Answer and run on</button>
        </>
      );
    case 'permission':
      return (
        <div class="buttons" role="group" aria-label="Permission">
          <button type="submit" name="permission" value="yes">
            Yes, allow it
          </button>
          <button type="submit" class="plain" name="permission" value="no">
            No
          </button>
        </div>
      );
    case 'limit':
      return (
        <>
          <div class="limits">
            <FormFields shape={question.shape} at="" state={state} />
          </div>
          <button type="submit">Allow it and run on</button>
        </>
      );
    case 'again':
      return <GoOn question={question} />;
  }
}

function GoOn({ question: { suspension } }: { question: WaitingQuestion }): Html {
  const { cause, due } = suspension;
  return (
    <>
      {cause === 'secret' && (
        <p>
          Take the secrets out of the files first: they are searched again, and then stored. To store them as they are,
          run <code>uwf thread resume</code> with <code>--allow-secrets</code>.
        </p>
      )}
      {due && <p>It can go on from {formatTime(Date.parse(due))}.</p>}
      <button type="submit">Go on</button>
    </>
  );
}

type WordsProps = { state: FormState; label: string; isOptional?: boolean; rows?: number };

function Words({ state, label, isOptional = false, rows = 4 }: WordsProps): Html {
  const id = `${state.id}-${WORDS}`;
  const wrong = state.errors.filter(({ path }) => path === WORDS).map(({ message }) => message);
  return (
    <div class="field">
      <label for={id}>
        {label} {isOptional && <span class="quiet">(optional)</span>}
      </label>
      <textarea
        id={id}
        name={WORDS}
        rows={rows}
        aria-required={isOptional ? undefined : 'true'}
        {...(wrong.length > 0 && { 'aria-invalid': 'true', 'aria-describedby': `${id}-refusal` })}
      >
        {state.typed.get(WORDS) ?? ''}
      </textarea>
      {wrong.length > 0 && (
        <p class="refusal" id={`${id}-refusal`}>
          {wrong.join('; ')}
        </p>
      )}
    </div>
  );
}

/** The command that answers a question at a terminal, with what a person fills in; one line for each of few answers. */
function commandToAnswer(question: WaitingQuestion): string {
  const resume = `uwf thread resume ${threadToAnswer(question.view, question.asking).thread}`;
  switch (question.kind) {
    case 'permission':
      return `${resume} -p yes\n${resume} -p no`;
    case 'limit': {
      const { reached } = question;
      const option = limitOptions.find(([name]) => name === reached?.name)?.[1] ?? 'steps';
      return `${resume} --${option} ${reached?.missing ?? 10}`;
    }
    case 'again':
      return resume;
    case 'text':
      return question.template === undefined ? `${resume} -p '…'` : withInput(resume, question.template);
    case 'reply': {
      const words = onlyChoice(question.shape)?.choices.map(({ word }) => word) ?? [];
      if (words.length === 0) return withInput(resume, replyTemplate(question.schema));
      return words.map((word) => `${resume} -p ${quoted(word)}`).join('\n');
    }
  }
}

/** Text on the input of a command, as a shell takes it without looking into it. */
function withInput(command: string, text: string): string {
  return `${command} -F - <<'EOF'\n${text.trimEnd()}\n\n…\nEOF`;
}

function quoted(word: string): string {
  return /^[\w.-]+$/u.test(word) ? word : shellQuoted(word);
}
