/** Characters of East Asian scripts and pictures, which are about twice as wide as letters. */
const wide =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;

/** About how wide a text is in pixels: the server has no fonts, so it assumes wide letters. */
export function textWidth(text: string, fontSize: number): number {
  let ems = 0;
  for (const character of text) ems += wide.test(character) ? 1.05 : 0.58;
  return Math.ceil(ems * fontSize);
}

/** The beginning of a text that is longer than so many letters, which stands in a picture; the whole one shows on it. */
export function shortText(text: string, length: number): string {
  const characters = [...text];
  return characters.length <= length ? text : `${characters.slice(0, length - 1).join('')}…`;
}
