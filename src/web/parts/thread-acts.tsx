import type { Html } from '../html.ts';
import type { ThreadView } from '../../engine/describe/describe.ts';
import { isOver } from '../../thread/thread-status.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { Visit } from '../site.ts';
import { ActForm } from './act-form.tsx';
import { CommandToPaste } from './labels.tsx';

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
