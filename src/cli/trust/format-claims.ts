import type { Palette } from '../output/palette.ts';
import type { TrustClaim } from './claim.ts';
import { findNew, type Trusted } from './trust-file.ts';

/**
 * Describes what claims would run, each with its differences from what was trusted under the same name before. All of it comes
 * from a repository, so characters that a person cannot see are escaped.
 */
export function formatClaims(claims: readonly TrustClaim[], trusted: readonly Trusted[], paint: Palette): string {
  return claims.map((claim) => formatClaim(claim, trusted, paint)).join('\n\n');
}

function formatClaim(claim: TrustClaim, trusted: readonly Trusted[], paint: Palette): string {
  const earlier = trusted.filter(({ name }) => name === claim.name);
  const before = earlier.at(-1);
  const { isNew } = findNew(claim, trusted);
  const at = claim.declaredAt === undefined ? '' : paint.quiet(`  ${visible(claim.declaredAt)}`);
  const lines = [paint.name(visible(claim.name)) + at];
  const colours = { '+': paint.good, '-': paint.error, ' ': (text: string) => text };
  const add = (mark: keyof typeof colours, line: string): void =>
    void lines.push(
      colours[before === undefined ? ' ' : mark](`  ${before === undefined ? ' ' : mark} ${visible(line)}`),
    );
  if (isNew) for (const line of before?.lines ?? []) if (!claim.lines.includes(line)) add('-', line);
  for (const line of claim.lines) add(!isNew || before?.lines.includes(line) ? ' ' : '+', line);
  for (const { word, bytes, sha256 } of claim.files) {
    const isKnown = earlier.some(({ files }) => Object.hasOwn(files, word) && files[word]?.includes(sha256));
    const isOther = !isKnown && earlier.some(({ files }) => Object.hasOwn(files, word));
    const line = `${word}: ${bytes} bytes, sha256 ${sha256.slice(0, 16)}${isOther ? ', changed' : ''}`;
    add(isKnown ? ' ' : '+', line);
  }
  return lines.join('\n');
}

/**
 * Escapes characters that are invisible or that change how the text around them is shown: `\u{202e}`. A long run of spaces,
 * which could push the text before it off the screen, is replaced by its length.
 */
export function visible(text: string): string {
  const short = text.replaceAll(/ {9,}/g, (spaces) => `\\u{20}*${spaces.length}`);
  return short.replaceAll(
    // U+2800 is a sign of Braille without a dot.
    /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
}
