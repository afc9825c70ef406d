import type { Html } from '../html.ts';

/** Commands to paste: a click selects all of it. */
export function CommandToPaste({ command }: { command: string }): Html {
  return (
    <pre class="command" tabindex={0}>
      <code>{command}</code>
    </pre>
  );
}

/** What to try next, its commands set apart. */
export function Hint({ hint }: { hint: string }): Html {
  return (
    <p class="quiet">{hint.split(/'(uwf [^']*)'/u).map((part, at) => (at % 2 === 1 ? <code>{part}</code> : part))}</p>
  );
}
