import type { Html } from '../html.ts';
import { TypedText } from '../parts/act-form.tsx';
import { Hint } from '../parts/labels.tsx';
import { Document } from '../parts/layout.tsx';
import { PageLink } from '../parts/link.tsx';

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
