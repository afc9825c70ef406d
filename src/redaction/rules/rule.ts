/** A form that secrets have. */
export type SecretRule = {
  /** As marks name it: lower case and hyphens. */
  name: string;
  /** What tells that the rule may match: three characters or more; in lower case where `isAnyCase`. */
  anchors: readonly string[];
  isAnyCase?: boolean;
  /** How many characters of a match are before its anchor; all are tried. None, unless something else is said. */
  before?: readonly number[];
  /** 1, a provider's token, unless something else is said. */
  layer?: number;
  /**
   * The source of a regular expression that is tried there. The group `s` is the secret, or else all of it. It has bounds:
   * 3072 characters in all, 256 up to the secret. White space may be before the secret, never in it.
   */
  pattern: string;
  /** Most begin a word. Others look at what is before them in `check`, or not at all. */
  isInWord?: boolean;
  /** Looks closer. `before` is what is in front of the match, at most 300 characters. */
  check?: (secret: string, match: RegExpExecArray, before: string) => boolean;
};

/** No character that a token or a mark could go on with. */
export const wordEnd = '(?![\\w‹])';

/** Standard base64, with what URLs and JSON make of `+`, `/` and `=`. */
export const base64 = '(?:[A-Za-z0-9+/]|%2[BbFf]|\\\\{1,3}/)';
export const padding = '(?:=|%3[Dd])';
/** What URLs and JSON make of it. */
export const slash = '(?:\\\\{0,3}/|%2[Ff])';
export const uuid = '[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}';

/** A quotation mark, also in JSON in JSON in JSON or in a URL. */
export const quote = '(?:\\\\{0,7}["\'`]|%22)';
/** A colour of a terminal. */
const colour = '(?:(?:\\u001b|\\\\{1,7}(?:u001[Bb]|x1[Bb]|033|e))\\[[\\d;]{0,12}m)?';
/** What stands for `is`: an operator, the next argument, the end of a tag, the next cell of a table, a word. */
const equals = '(?:=>|:=|={1,3}|:(?!:)|%3[AaDd]|,(?=\\s{0,8}["\'`])|>(?=[^=\\s])|(?<=[ \\t])(?:\\||is|to)(?=[ \\t]))';

/** What is between a name and its value. */
export const separator: string = `${quote}?\\]?${colour}[ \\t]{0,20}${equals}\\s{0,20}${colour}(?:[bfr]?${quote})?`;

/** Tokens that a prefix tells: prefixes separated by blanks, and what follows them. */
export function prefixed(name: string, prefixes: string, body: string, more: Partial<SecretRule> = {}): SecretRule {
  const anchors = prefixes.split(' ');
  const starts = anchors.map((anchor) => anchor.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&')).join('|');
  const inUrls = body.replaceAll('[A-Za-z0-9+/]', base64).replaceAll('={', `${padding}{`);
  return { name, anchors, pattern: `(?:${starts})${inUrls}${wordEnd}`, ...more };
}

/** Values without a prefix: they count beside a name that has the provider in it, `DATADOG_API_KEY`. Lower case. */
export function named(name: string, providers: string, value: string, more: Partial<SecretRule> = {}): SecretRule {
  const anchors = providers.split(' ');
  const what =
    '[\\w.-]{0,30}?(?:key|token|secret|passw|pwd|auth(?!ors?\\b|or[_-])|pat\\b|credential|licen[cs]e)[\\w.-]{0,16}';
  const pattern = `(?:${anchors.join('|')})${what}${separator}(?<s>${value})${wordEnd}`;
  return { name, anchors, isAnyCase: true, pattern, isInWord: true, ...more };
}

/** Tells whether a token has a digit behind what begins it. */
export function hasDigit(secret: string): boolean {
  return /\d/.test(secret.slice(3));
}

/** Tells whether a token has a digit and letters of both cases behind what begins it. */
export function hasDigitAndBothCases(secret: string): boolean {
  const body = secret.slice(3);
  return /\d/.test(body) && /[a-z]/.test(body) && /[A-Z]/.test(body);
}

/** Tells whether a token has letters and digits, as random characters have them. */
export function isVaried(secret: string): boolean {
  return /\d/.test(secret) && /[A-Za-z]/.test(secret) && new Set(secret).size >= 8;
}
