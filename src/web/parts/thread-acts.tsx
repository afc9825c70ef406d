import type { ThreadView } from '../../engine/describe/describe.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { isOver } from '../../thread/thread-state.ts';
import type { Visit } from '../site.ts';
import { CommandToPaste, type Html } from './page.tsx';

type ActsProps = { visit: Visit; view: ThreadView };

/** What else a person can do with a thread: each folded, as the answer to its question comes first. */
export function ThreadActs({ visit, view }: ActsProps): Html | null {
  const { thread, head, status, steps, holder } = view;
  const isRunning = holder !== null;
  const isReady = status === 'idle' || status === 'interrupted';
  if (status === 'corrupt' || status === 'newer') return null;
  if (visit.site.actions === undefined) return isReady ? <RunAtTerminal thread={thread} /> : null;
  return (
    <section class="acts" aria-labelledby="acts">
      <h2 id="acts">What you can do</h2>
      {isReady && !isRunning && (
        <ActForm visit={visit} action={`/t/${thread}/resume`} id={`run-${head}`} head={head}>
          <button type="submit">Run on</button>
        </ActForm>
      )}
      {isRunning && (
        <ActForm visit={visit} action={`/t/${thread}/stop`} id={`stop-${thread}`}>
          <button type="submit" class="plain">
            Stop it; its steps stay, and it can run on later
          </button>
        </ActForm>
      )}
      {isReady && !isRunning && steps > 0 && (
        <details>
          <summary>Have the last step done again</summary>
          <PokeForm visit={visit} view={view} />
        </details>
      )}
      {steps > 0 && (
        <details>
          <summary>Ask an agent about its step</summary>
          <AskForm visit={visit} thread={thread} steps={steps} />
        </details>
      )}
      <details>
        <summary>Fork</summary>
        <ForkForm visit={visit} thread={thread} />
      </details>
      {!isOver(status) && (
        <details class="danger">
          <summary>Cancel</summary>
          <CancelForm visit={visit} view={view} />
        </details>
      )}
    </section>
  );
}

function RunAtTerminal({ thread }: { thread: ThreadId }): Html {
  return (
    <section class="acts" aria-label="How it goes on">
      <p class="quiet">This page only shows. To run it on, paste at a terminal:</p>
      <CommandToPaste command={`uwf thread run ${thread}`} />
    </section>
  );
}

function PokeForm({ visit, view: { thread, head } }: ActsProps): Html {
  const id = `poke-word-${head}`;
  return (
    <ActForm visit={visit} action={`/t/${thread}/poke`} id={`poke-${head}`} head={head}>
      <label for={id}>What is to be different</label>
      <textarea id={id} name="word" rows={3}></textarea>
      <button type="submit">Do it again</button>
    </ActForm>
  );
}

type AskProps = { visit: Visit; thread: ThreadId; steps?: number };

/** Asks the agent of a step; the thread does not change. */
export function AskForm({ visit, thread, steps }: AskProps): Html {
  return (
    <ActForm visit={visit} action={`/t/${thread}/ask`} id={`ask-${thread}`}>
      <label for="ask-question">Question</label>
      <textarea id="ask-question" name="question" rows={3}></textarea>
      <StepNumber id="ask-step" label={steps === undefined ? 'About step' : `About step (1 to ${steps})`} />
      <button type="submit">Ask and wait for the answer</button>
    </ActForm>
  );
}

/** Makes a thread that goes on from a step of this one; `step` is its number where the form is about one step. */
export function ForkForm({ visit, thread, step }: { visit: Visit; thread: ThreadId; step?: number }): Html {
  const action = `/t/${thread}/fork`;
  return (
    <ActForm visit={visit} action={action} id={`fork-${thread}-${step ?? ''}`}>
      {step === undefined ? (
        <StepNumber id="fork-step" label="Behind step (0 is the start)" />
      ) : (
        <input type="hidden" name="step" value={String(step)} />
      )}
      <button type="submit">{step === undefined ? 'Make a fork' : 'Fork here'}</button>
    </ActForm>
  );
}

function StepNumber({ id, label }: { id: string; label: string }): Html {
  return (
    <div class="field">
      <label for={id}>
        {label} <span class="quiet">(empty: the newest)</span>
      </label>
      <input type="text" inputmode="numeric" id={id} name="step" />
    </div>
  );
}

function CancelForm({ visit, view: { thread, head } }: ActsProps): Html {
  return (
    <ActForm visit={visit} action={`/t/${thread}/cancel`} id={`cancel-${thread}`} head={head}>
      <p>It ends with its children, and does not go on again; a fork of it can. Its steps stay readable.</p>
      <label for="cancel-reason">
        Why <span class="quiet">(optional)</span>
      </label>
      <input type="text" id="cancel-reason" name="reason" />
      <button type="submit" class="bad">
        Cancel the thread for good
      </button>
    </ActForm>
  );
}

type ActFormProps = {
  visit: Visit;
  action: string;
  /** Names the form on its page, and what it is about: a form of another name takes nothing over of what was typed. */
  id: string;
  /** The head that is shown, where the thread is changed. */
  head?: string | undefined;
  children?: unknown;
};

/** A form of ours, which carries what shows that it is. */
export function ActForm({ visit, action, id, head, children }: ActFormProps): Html {
  return (
    <form method="post" action={action} id={id} class="act">
      <input type="hidden" name="form" value={visit.formToken} />
      {head && <input type="hidden" name="head" value={head} />}
      {children}
      <p class="stale refusal" role="status"></p>
    </form>
  );
}

/** What was typed into a form that did nothing, so that it is not lost. */
export function TypedText({ typed }: { typed: URLSearchParams }): Html | null {
  const texts = [...typed].filter(([name, text]) => text !== '' && !/^(?:form|head|asked|row)$|^rows\//u.test(name));
  if (texts.length === 0) return null;
  return (
    <section aria-labelledby="typed">
      <h2 id="typed">What you typed</h2>
      <dl class="typed">
        {texts.map(([name, text]) => (
          <>
            <dt>{decodeURIComponent(name.replace(/^\//u, ''))}</dt>
            <dd>
              <pre class="plain">{text}</pre>
            </dd>
          </>
        ))}
      </dl>
    </section>
  );
}
