import { marks } from '../redaction/redactor.ts';

/** Tells whether something was redacted in a text. */
export function hasMark(text: string): boolean {
  return text.search(marks) !== -1;
}

/** Tells whether a text is another one in which parts were replaced by marks. */
export function isMarked(before: string, after: string): boolean {
  // Every second part is the name of a mark's rule.
  const [first = '', ...rest] = after.split(marks).filter((_, at) => at % 2 === 0);
  const last = rest.pop();
  if (last === undefined) return before === after;
  let at = first.length;
  if (!before.startsWith(first)) return false;
  for (const part of rest) {
    const next = before.indexOf(part, at);
    if (next === -1) return false;
    at = next + part.length;
  }
  return before.length >= at + last.length && before.endsWith(last);
}
