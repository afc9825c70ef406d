import type { Html } from '../html.ts';
import type { ThreadView } from '../../engine/describe/describe.ts';
import { hintToResume } from '../../thread/hint-to-go-on.ts';
import type { Visit } from '../site.ts';

type AnswerProps = { visit: Visit; view: ThreadView };

/** What a suspended thread waits for, and the form that answers it; the command where the page may not write. */
export function AnswerPanel({ visit, view }: AnswerProps): Html | null {
  const { thread, suspension, waitsFor, reason } = view;
  if (suspension === null) return null;
  return (
    <section class="answer" aria-labelledby="answer-title">
      <h2 id="answer-title">{suspension.role} waits for an answer</h2>
      <p class="reason">{reason}</p>
      {waitsFor && (
        <p>
          The question is that of <a href={`/t/${waitsFor}`}>{waitsFor}</a>.
        </p>
      )}
      {visit.site.actions ? (
        <form method="post" action={`/t/${thread}/resume`}>
          <input type="hidden" name="form" value={visit.formToken} />
          <input type="hidden" name="head" value={view.head} />
          <label for="answer">Answer</label>
          <textarea id="answer" name="answer" rows={4}></textarea>
          <button type="submit">Answer and run on</button>
        </form>
      ) : (
        <p class="quiet">{hintToResume(thread, suspension)}</p>
      )}
    </section>
  );
}
