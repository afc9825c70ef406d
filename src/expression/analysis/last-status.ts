/**
 * The condition that a graph's edge for a status amounts to: `` $steps[-1].meta.`$status` = 'done' ``, in exactly these characters.
 * The literal has neither quotes nor escapes.
 */
const FORM = /^\$steps\[-1\]\.meta\.`\$status` = '([\w $.:/-]*)'$/;

/**
 * Returns the status that an expression compares the last one with; `undefined` for an expression of any other form.
 *
 * A role can have thousands of edges, and parsing each as JSONata takes a tenth of a millisecond.
 */
export function comparedStatus(source: string): string | undefined {
  return FORM.exec(source)?.[1];
}
