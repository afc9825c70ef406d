/**
 * A letter or a digit, roughly: ASCII, and what is no punctuation, symbol or private character above it. Ranges instead of
 * `\p{L}`, whose meaning grows with each version of Node: verification makes these lines anew, on every machine the same.
 */
const says =
  /[0-9A-Za-zªµº\u00C0-\u1FFF\u2C00-\u2DFF\u3040-\uD7FF\uF900-\uFDFF\uFE70-\uFEFE\uFF10-\uFFDC\u{10000}-\u{1EFFF}\u{20000}-\u{3FFFF}]/u;

/** The first line with a letter or digit, without Markdown's marks of headings and lists; '' if there is none. */
export function firstLine(text: string): string {
  const line = text.split(/\r?\n/).find((candidate) => says.test(candidate)) ?? '';
  return line.replace(/^[\s#>*-]+/, '').trim();
}

/** What npm, pnpm and make add below the output of what they ran, and how long it took. */
const aside =
  /^[^0-9a-z]*(?:npm (?:err|error|notice|warn)\b|elifecycle\b|make(?:\[\d+\])?:|(?:duration(?:_ms)?|start at|done in|time:)\s)/i;
// oxlint-disable-next-line no-control-regex -- the escape character is what is looked for
const colours = /\u001B\[[\d;]*m/g;

/**
 * The last line of a program's output that says something: it has a letter or digit and is no {@link aside}; if all are, the
 * last with a letter or digit. Colours, and rules of `=`, `-`, `_`, `*`, `#` and `>` around it, are left out.
 */
export function lastLine(output: string): string {
  const lines = output.replaceAll(colours, '').split(/\r\n?|\n/);
  const line =
    lines.findLast((each) => says.test(each) && !aside.test(each)) ?? lines.findLast((each) => says.test(each));
  return (line ?? '').replace(/^[\s#>*=_-]+/, '').replace(/[\s*=_-]+$/, '');
}
