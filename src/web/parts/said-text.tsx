import type { Html } from '../html.ts';
import { formatCount } from '../../format-time.ts';
import { markdown } from './markdown.ts';

/** Longer texts are cut: a browser needs seconds for megabytes. */
const MAX_SHOWN = 100_000;

/**
 * What was said, with its Markdown.
 * @param all the command that prints all of a text that is too long for a page
 */
export function SaidText({ text, all }: { text: string; all?: string | undefined }): Html | null {
  if (text.trim() === '') return null;
  // A renderer of Markdown needs many times the size of a text.
  return text.length > MAX_SHOWN ? <PlainText text={text} all={all} /> : <div class="said">{markdown(text)}</div>;
}

type PlainProps = { text: string; all?: string | undefined; max?: number };

/** A text as it is, cut if it is too long for a page. */
export function PlainText({ text, all, max = MAX_SHOWN }: PlainProps): Html {
  return (
    <>
      <pre class="said plain">{text.slice(0, max)}</pre>
      {text.length > max && (
        <p class="quiet">
          The first {formatCount(max)} of {formatCount(text.length)} characters are shown.{' '}
          {all && (
            <>
              All of it: <code>{all}</code>
            </>
          )}
        </p>
      )}
    </>
  );
}
