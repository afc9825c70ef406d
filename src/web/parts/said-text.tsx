import type { Html } from '../html.ts';
import { markdown } from './markdown.ts';

/** What was said, with its Markdown. */
export function SaidText({ text }: { text: string }): Html | null {
  if (text.trim() === '') return null;
  const html = markdown(text);
  return html === undefined ? <pre class="said plain">{text}</pre> : <div class="said">{html}</div>;
}
