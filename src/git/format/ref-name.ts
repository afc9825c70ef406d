import { isWellFormed } from '../../is-well-formed.ts';
import { InvalidRefName } from './ref-errors.ts';
import type { RefName } from '../ref-store.ts';

const pseudoRef = /^[A-Z][A-Z_]*$/;
// oxlint-disable-next-line no-control-regex -- git forbids exactly these bytes
const forbiddenCharacter = /[\u0000-\u0020\u007f~^:?*[\\]/;

/**
 * Checks a full ref name: one below `refs/` that `git check-ref-format` accepts, or a pseudo ref such as `HEAD`.
 *
 * Names outside `refs/` that `check-ref-format` alone would accept (`objects/pack/x`) are refused: a ref is a file in the git
 * folder, and writing it would overwrite a file that is no ref.
 * @throws {InvalidRefName} naming the rule that is broken
 * Source: git-check-ref-format(1), `refname_is_safe` in git's refs.c.
 */
export function parseRefName(text: string): RefName {
  if (!isRefName(text)) throw new InvalidRefName(text, whyInvalid(text) ?? '');
  return text;
}

/**
 * Checks a prefix of refs that are to be listed: it ends in `/`, and refs can be below it.
 * @throws {InvalidRefName}
 */
export function assertPrefix(prefix: string): void {
  if (!prefix.endsWith('/')) throw new InvalidRefName(prefix, "a prefix to list ends in '/'");
  if (!isRefName(`${prefix}x`)) throw new InvalidRefName(prefix, 'no ref can be below it');
}

/** Tells whether a text is a full ref name in the sense of {@link parseRefName}. */
export function isRefName(text: string): text is RefName {
  return whyInvalid(text) === undefined;
}

function whyInvalid(text: string): string | undefined {
  if (pseudoRef.test(text)) return undefined;
  if (!text.startsWith('refs/')) return "it does not start with 'refs/'";
  if (!isWellFormed(text)) return 'it is not well-formed Unicode';
  if (forbiddenCharacter.test(text)) return 'it holds a space, a control character or one of ~^:?*[\\';
  if (text.includes('..')) return "it holds '..'";
  if (text.includes('@{')) return "it holds '@{'";
  if (text.endsWith('.')) return 'it ends with a dot';
  for (const component of text.split('/')) {
    if (component === '') return 'it has an empty component';
    if (component.startsWith('.')) return 'a component starts with a dot';
    if (component.endsWith('.lock')) return "a component ends with '.lock'";
  }
  return undefined;
}
