import type { Html } from '../html.ts';
import type { Visit } from '../site.ts';

type ActFormProps = {
  visit: Visit;
  /** Where it is sent. */
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
