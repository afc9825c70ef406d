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
  /** What is tried behind the match, again and again in one line: then each of these matches is a finding, as `pattern` says. */
  each?: string;
  /** Most begin a word. Others look at what is before them in `check`, or not at all. */
  isInWord?: boolean;
  /** Looks closer. `before` is what is in front of the match, at most 300 characters. */
  check?: (secret: string, match: RegExpExecArray, before: string) => boolean;
};

/** Escapes that end in a letter or a digit: of JSON, of URLs, and the colours of a terminal. */
const escapes =
  '(?:\\\\[nrtbf]|\\\\u[0-9A-Fa-f]{4}|\\\\x[0-9A-Fa-f]{2}|%[0-9A-Fa-f]{2}|(?:\\u001b|\\\\u001b|\\\\x1b|\\\\033|\\\\e)\\[[\\d;]{0,12}[A-Za-z])';
const escape = new RegExp(escapes, 'g');
const escapeBefore = new RegExp(`${escapes}$`);

/** Tells whether a text ends in an escape, so that what follows begins a word. */
export function endsInEscape(text: string): boolean {
  return escapeBefore.test(text);
}

/** The beginning of a name at the end of a text. */
export function nameAtEnd(text: string): string {
  return /[\w.-]{0,60}$/.exec(text.slice(-80).replaceAll(escape, ' '))?.[0] ?? '';
}

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
const equals =
  '(?:=>|:=|(?:\\|\\||[?+])?={1,3}|(?:\\|\\||\\?\\?)(?=\\s{0,8}["\'`])|:(?!:)|%3[AaDd]|,(?=\\s{0,8}["\'`])|>(?=[^=\\s])|(?<=[ \\t])(?:\\||is|to)(?=[ \\t]))';
/**
 * What is between a name and a value that are beside each other: `name: X`, and in the next line `value: Y`; `X: { value: Y }`;
 * `<key>X</key><string>Y</string>`; a heading that is underlined.
 */
const beside =
  `${quote}?(?:,?[\\s+-]{1,30}|\\s{0,4}:\\s{0,4}\\{[^{}]{0,100}?)${quote}?[Vv]alue${quote}?\\s{0,4}[:=]\\s{0,4}|` +
  `${quote}?(?:>|</\\w{1,20}>)\\s{0,20}<(?:value|string)>|:[ \\t]{0,4}\\r?\\n-{3,20}\\r?\\n`;
/** Tells whether it is that which is between a name and a value beside it. */
export function isBeside(between: string): boolean {
  return /(?:value|string|---)\W*$/i.test(between);
}

/**
 * Where a blank is enough: after an option, before a quotation mark, and after the name in `ENV X y`, `set -gx X y`, `setenv X y`, `#define X y` and
 * `secret set X --body y`.
 */
const blank =
  '(?:(?<=(?:--|(?:\\b(?:ENV|setenv|setx|set(?: -\\w{1,3})?)|#[ \\t]{0,4}define)[ \\t]{1,4})[\\w.-]{1,60})[ \\t]{1,20}|[ \\t]{1,4}--(?:body|value|secret|data)[ =]{1,3}|[ \\t]{1,4}(?=["\'`]))';
/** Between a name and `=` where the language has types: `X: &str = "y"`. */
const type = `:[ \\t]{0,4}[&\\w'<>[\\]?. ]{1,40}=[ \\t]{0,4}(?=[bfr]?["'\`])`;

/** What is between the columns of a table: only random values are told from words there. */
export const columns = '[ \\t]{1,30}';

/** What is between a name and its value. */
export const separator: string = `(?![\\w.-])(?:${quote}?[\\]*]{0,3}${colour}[ \\t]{0,20}${equals}\\*{0,3}\\s{0,20}${colour}|${beside}|${blank}|${type})(?:[bfr]?${quote}(?:\\\\{1,7}["'])?)?`;

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
