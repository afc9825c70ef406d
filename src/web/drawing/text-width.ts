/** Characters of East Asian scripts and pictures, which are about twice as wide as letters. */
const wide =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;

/** About how wide a text is in pixels: the server has no fonts, so it assumes wide letters. */
export function textWidth(text: string, fontSize: number): number {
  let ems = 0;
  for (const character of text) ems += wide.test(character) ? 1.05 : 0.58;
  return Math.ceil(ems * fontSize);
}
