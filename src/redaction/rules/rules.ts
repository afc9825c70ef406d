import { credentialRules, passwordRules } from './credential-rules.ts';
import { providerRules } from './provider-rules.ts';
import {
  columns,
  hasDigit,
  hasDigitAndBothCases,
  isAddress,
  isBeside,
  isPlaceholder,
  looksRandom,
  nameAtEnd,
  type SecretRule,
  separator,
  strange,
  strangenessOf,
} from './rule.ts';

/** Whose key it is: `api_key`, `accessKey`. */
const whose = 'api|access|private|auth|signing|encryption|session|master|account|service|licen[cs]e|webhook';
const words =
  `token|secret|passw(?:or)?d|passwd|passphrase|pwd|(?:${whose})[._-]?key|session[._-]?(?:id|secret)|credential|jwt|` +
  '(?<=[a-z\\d])_pat\\b|(?<k>(?<=[a-z\\d][_.-]?)key\\b)';

const names = [
  ...'token secret passw passphrase pwd signing encryption session master license licence credential webhook jwt _pat'.split(
    ' ',
  ),
  ...['api', 'access', 'private', 'auth', 'account', 'service'].flatMap((whose) =>
    ['', '_', '-', '.'].map((joint) => `${whose}${joint}key`),
  ),
  // Of any provider: `acmeKey`, `ACME_KEY`.
  ...[':', '=', '"', "'", ' ', '`', '\\', '%', '<', '>', ']', ',', '\n', '\r', '\u001b'].map((end) => `key${end}`),
];

/** Names that say that what they name is no secret. */
const harmless =
  /(?:next|previous|prev|page|pagination|continu\w*|cancel\w*|sync|cursor|resume|request|trace|public|pub)[_-]?(?:page[_-]?)?(?:token|key)|token[_-]?(?:type|count|id|name|url|uri|endpoint|s?used)|tokeniz|tokens?[_-]?per|secret[_-]?(?:name|id|arn|ref|version)|key[_-]?(?:id|name|ref|type|path|file|alias)$|_?(?:path|file|url|uri|dir|name|hash|digest|checksum|pattern|regex|format|length|policy)$|integrity|csrf|xsrf|nonce/i;

/** What refers to a secret or to a file, the names of sessions, and rows of the alphabet. */
const notSecret =
  /^(?:(?:data|file|urn|arn|projects|op|vault|ssm|env):|\.{1,2}\/|~\/|ses[a-z]{0,4}_)|abcdefgh|0123456789/i;

/** The name of a variable of an environment: `FUNCTION_KEY`. */
const variable = /(?:^|\.)[A-Z][A-Z\d_-]*[_-](?:KEY|PAT)$/;
/** Other names that end in a word `key`: `acmeKey`, `acme-key`, no `monkey`. */
const anyKey = /(?:[_.-][Kk]ey|[a-z\d]Key)$/;
/** A name that says whose key or token it is: what looks like a digest or an id is one there. */
const ofSomething =
  /(?:[a-z0-9][._-]?(?:api[._-]?key|token|secret(?:[._-]?key)?(?:[._-]?base)?)|(?:secret|master|encryption|signing|private|license|admin|auth|access|account|session|cookie)[._-]?(?:key|secret)(?:[._-]?base)?|_pat)$/i;
/** Whose token or key is none to anything: a revision's, a lock's, a table's, a list's. */
const ofNothing: ReadonlySet<string | undefined> = new Set(
  (
    'commit git sha hash etag tag cache idempotency push registration upload lock fencing lease claim build node state correlation version ' +
    'revision cancellation concurrency row primary foreign partition sort range object s3 storage item table column index unique map dict json ' +
    'prop property translation i18n locale message label query route react child parent group user host known public site sitemap publish ' +
    'publishable widget measurement'
  ).split(' '),
);

/** Values that generators of random characters made, beside a name that says that they are secret. */
const randomRules: readonly SecretRule[] = [
  {
    name: 'random-value',
    anchors: names,
    isAnyCase: true,
    isInWord: true,
    layer: 3,
    // In quotation marks any sign; in a URL none that ends a parameter.
    pattern:
      `(?<n>(?:${words})[\\w.-]{0,40}?)(?:${separator}|${columns})(?<s>(?<=["'\`])[^\\s"'\`\\\\<>‹›\u001b]{12,2600}(?=["'\`])|` +
      '(?<![?&#][\\w.%-]{0,80}=)(?:\\d{1,8}\\|)?[\\w+/=.~!@#$%^*?:&-]{12,2600}|[\\w+/=.~!@#$%^*?:-]{12,2600})',
    check: isSecretValue,
  },
];

function isSecretValue(secret: string, match: RegExpExecArray, before: string): boolean {
  const name = nameAtEnd(before) + (match.groups?.['n'] ?? '');
  // Letters that happen to stand in a longer word say nothing.
  if (harmless.test(name) || /[a-z](?:pwd|jwt)[a-z]/.test(name) || isPlaceholder(secret)) return false;
  const between = match[0].slice(match.groups?.['n']?.length, match[0].length - secret.length);
  const opening = between.at(-1) ?? '';
  const behind = match.input.slice(match.index + match[0].length, match.index + match[0].length + 2);
  const isQuoted = /["'`]/.test(opening);
  // What a quotation mark does not end, or code goes on with, is an expression or a part of something longer.
  const isEscape = /^\\(?:[nrtux"'`\\]|$)/.test(behind);
  if (isQuoted ? !/^["'`\u001b]|^$/.test(behind) && !isEscape : /^(?:[([{‹\\]|<(?!\/))/.test(behind) && !isEscape)
    return false;
  if (!isQuoted && /[\r\n]/.test(between) && !isBeside(between)) return false;
  const isVariable = between === '=' && name === name.toUpperCase();
  if (!isQuoted && !isVariable && isPathOfCode(secret)) return false;
  if (!isQuoted && /private_?key$/i.test(name) && isNameOfKey(secret)) return false;
  const isArgument = /,\s*["'`]$/.test(between);
  if (isArgument && !/["'`(]\s*[\w.-]*$/.test(before)) return false;
  if (secret.includes('://') || notSecret.test(secret)) return false;
  if (match.groups?.['k'] !== undefined && !isOfProvider(name, secret)) return false;
  const isNamed = (ofSomething.test(name) || variable.test(name)) && !ofNothing.has(ownerIn(name));
  if (isKeyInHexadecimal(secret)) return isNamed && new Set(secret).size >= 8;
  if (isNamed && !isAddress(secret) && !secret.includes('..') && /(?<![0-9a-z])[0-9a-f]{24,}(?![0-9a-z])/.test(secret))
    return true;
  // Of ten values that generators made, one happens to look like words. It has digits and capitals.
  const from = (isNamed || anyKey.test(name)) && hasDigitAndBothCases(secret) ? strange / 2 : strange;
  const parts = secret.split(/[.:?/=]/);
  return looksRandom(secret, from) && parts.some((part) => part.length >= 10 && looksRandom(part, from));
}

/** Tells whether it is what code reads: `options.signing.keyV2`. */
function isPathOfCode(value: string): boolean {
  const isPath = /^[A-Za-z_$][\w$]*(?:\??\.[A-Za-z_$][\w$]*)+$/.test(value);
  return isPath && !value.split('.').some((part) => part.length >= 24 && looksRandom(part));
}

/** Tells whether a key of anything may be a provider's: most keys are names in tables. */
function isOfProvider(name: string, secret: string): boolean {
  return (
    (variable.test(name) || anyKey.test(name)) &&
    secret.length >= 20 &&
    hasDigit(secret) &&
    !ofNothing.has(ownerIn(name))
  );
}

/** The word before the last: `cache` in `cacheKey`, `USER_CACHE_KEY`. */
function ownerIn(name: string): string | undefined {
  return name
    .split(/[_.-]+|(?<=[a-z\d])(?=[A-Z])/)
    .at(-2)
    ?.toLowerCase();
}

/** Digits in hexadecimal, as many as keys have, with or without hyphens. */
function isKeyInHexadecimal(value: string): boolean {
  return /^(?:[0-9a-f]{24,128}|[0-9A-F]{32,64}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$/.test(value);
}

/** Tells whether a word begins it and nothing in it is random: `ALICE_secp112r1`, `KAS-P-192_C0`. */
function isNameOfKey(value: string): boolean {
  const [first = '', ...parts] = value.split(/[-_]/);
  const isWord = /^[A-Za-z]{3,}$/.test(first) && (first === first.toUpperCase() || strangenessOf(first) < strange);
  return isWord && parts.length > 0 && !parts.some(looksRandom);
}

/** Changes with every change of a rule: what was taken out is recorded with it. */
export const table = '2026-11-28';

/** The table: all forms that are known. */
export const rules: readonly SecretRule[] = [...providerRules, ...credentialRules, ...passwordRules, ...randomRules];
