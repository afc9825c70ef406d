import { Document, Hint, type Html, PageLink } from '../parts/page.tsx';
import { TypedText } from '../parts/thread-acts.tsx';

type MessageProps = {
  title: string;
  text: string;
  hint?: string | undefined;
  /** Where to go on: the address itself, for one that another page has linked to. */
  again?: string | undefined;
  /** What was typed into a form that did nothing. */
  typed?: URLSearchParams | undefined;
};

/** A page that only says something: a refusal, or an error. */
export function MessagePage({ title, text, hint, again, typed }: MessageProps): Html {
  return (
    <Document title={`${title} · uwf`}>
      <main id="main" class="alone">
        <h1>{title}</h1>
        <p>{text}</p>
        {hint && <Hint hint={hint} />}
        {again && (
          <p>
            <PageLink href={again}>
              {again === '/' ? 'All threads' : typed ? 'Look at it again' : 'Open it here'}
            </PageLink>
          </p>
        )}
        {typed && <TypedText typed={typed} />}
      </main>
    </Document>
  );
}
