import type { Html } from '../html.ts';
import { Document } from '../parts/layout.tsx';

type MessageProps = {
  title: string;
  text: string;
  hint?: string | undefined;
  /** The address itself, for one that another page has linked to. */
  again?: string | undefined;
};

/** A page that only says something: a refusal, or an error. */
export function MessagePage({ title, text, hint, again }: MessageProps): Html {
  return (
    <Document title={`${title} · uwf`}>
      <main id="main" class="alone">
        <h1>{title}</h1>
        <p>{text}</p>
        {hint && <p class="quiet">{hint}</p>}
        {again && (
          <p>
            <a href={again}>Open it here</a>
          </p>
        )}
      </main>
    </Document>
  );
}
