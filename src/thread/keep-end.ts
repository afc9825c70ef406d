/** The last characters of a text, without half of one at the cut. */
export function keepEnd(text: string, length: number): string {
  return length <= 0 ? '' : text.slice(-length).replace(/^[\uDC00-\uDFFF]/, '');
}
