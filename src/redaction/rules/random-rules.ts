import { isPlaceholder, looksRandom, strange, strangenessOf } from './looks-random.ts';
import { separator } from './rule.ts';
import type { SecretRule } from './rule.ts';

const words =
  'token|secret|passw(?:or)?d|passwd|passphrase|pwd|api[_-]?key|apikey|access[_-]?key|private[_-]?key|auth[_-]?key|signing[_-]?key|' +
  'encryption[_-]?key|session[_-]?(?:key|id|secret)|master[_-]?key|account[_-]?key|service[_-]?key|licen[cs]e[_-]?key|credential|webhook[_-]?key|jwt';

const names =
  'token secret passw passphrase pwd api_key api-key apikey access_key access-key accesskey private_key private-key privatekey ' +
  'auth_key authkey auth-key signing encryption session master account_key service_key servicekey license licence credential webhook jwt';

/** Names that say that what they name is no secret. */
const harmless =
  /(?:next|previous|prev|page|pagination|continu\w*|cancel\w*|sync|cursor|resume|request|trace|public|pub)[_-]?(?:page[_-]?)?(?:token|key)|token[_-]?(?:type|count|id|name|url|uri|endpoint|s?used)|tokeniz|tokens?[_-]?per|secret[_-]?(?:name|id|arn|ref|version)|key[_-]?(?:id|name|ref|type|path|file|alias)$|_?(?:path|file|url|uri|dir|name|hash|digest|checksum|pattern|regex|format|length|policy)$|integrity|csrf|xsrf|nonce/i;

/** What refers to a secret or to a file, the names of sessions, and rows of the alphabet. */
const notSecret =
  /^(?:(?:data|file|urn|arn|projects|op|vault|ssm|env):|\.{1,2}\/|~\/|ses[a-z]{0,4}_)|abcdefgh|0123456789/i;

/** Values that generators of random characters made, beside a name that says that they are secret. */
export const randomRules: readonly SecretRule[] = [
  {
    name: 'random-value',
    anchors: names.split(' '),
    isAnyCase: true,
    isInWord: true,
    layer: 3,
    pattern: `(?<n>(?:${words})[\\w.-]{0,40}?)(?:${separator}|(?<=--[\\w-]{0,60})[ \\t]{1,4}["']?)(?<s>(?<![?&][\\w.%-]{0,80}=)[\\w+/=.~!@#$%^*?:&-]{12,512}|[\\w+/=.~!@#$%^*?:-]{12,512})`,
    check: isSecretValue,
  },
];

function isSecretValue(secret: string, match: RegExpExecArray, before: string): boolean {
  const name = (/[\w.-]{0,60}$/.exec(before)?.[0] ?? '') + (match.groups?.['n'] ?? '');
  // Letters that happen to stand in a longer word say nothing.
  if (harmless.test(name) || /[a-z](?:pwd|jwt)[a-z]/.test(name) || isPlaceholder(secret)) return false;
  const between = match[0].slice(match.groups?.['n']?.length, match[0].length - secret.length);
  const opening = between.at(-1) ?? '';
  const behind = match.input.slice(match.index + match[0].length, match.index + match[0].length + 2);
  const isQuoted = /["'`]/.test(opening);
  // What a quotation mark does not end, or code goes on with, is an expression or a part of something longer.
  const isEscape = /^\\(?:[nrtux"'`\\]|$)/.test(behind);
  if (isQuoted ? !/^["'`]|^$/.test(behind) && !isEscape : /^[([{<‹\\]/.test(behind) && !isEscape) return false;
  if (!isQuoted && /[\r\n]/.test(between)) return false;
  if (!isQuoted && /^[A-Za-z_$][\w$]*(?:\??\.[A-Za-z_$][\w$]*)+$/.test(secret)) return false;
  if (!isQuoted && /private_?key$/i.test(name) && isNameOfKey(secret)) return false;
  const isArgument = /,\s*["'`]$/.test(between);
  if (isArgument && !/["'`(]\s*[\w-]*$/.test(before)) return false;
  if (secret.includes('://') || notSecret.test(secret)) return false;
  const parts = secret.split(/[.:?/=]/);
  return looksRandom(secret) && parts.some((part) => part.length >= 10 && looksRandom(part));
}

/** Tells whether a word begins it and nothing in it is random: `ALICE_secp112r1`, `KAS-P-192_C0`. */
function isNameOfKey(value: string): boolean {
  const [first = '', ...parts] = value.split(/[-_]/);
  const isWord = /^[A-Za-z]{3,}$/.test(first) && (first === first.toUpperCase() || strangenessOf(first) < strange);
  return isWord && parts.length > 0 && !parts.some(looksRandom);
}
