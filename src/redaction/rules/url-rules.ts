import { isPlaceholder, looksRandom, strange, strangenessOf } from '../looks-random.ts';
import type { Rule } from './rule.ts';

/** A character of a password in a URL. */
const inPassword = '[^\\s@/"\'`<>‹›\\\\\\u001b]';

/** Hosts of manuals and of tests: those that RFC 2606 keeps free, what stands for a host, and this machine. */
const madeUpHost =
  /^(?:127\.0\.0\.1|(?:my|some|the)?-?(?:host|hostname|server|domain)\d?|foo|bar)$|(?:^|\.)(?:example|test|invalid|localhost|(?:my)?domain|host|server|foo|bar)(?:\.(?:com|net|org|edu))?$/i;

/** Passwords and tokens in URLs. */
export const urlRules: readonly Rule[] = [
  {
    name: 'url-password',
    isInWord: true,
    anchors: ['://', ':\\/\\/'],
    pattern:
      ':(?:\\\\?/){2}(?<u>[^\\s:@/"\'`<>‹›?#\\\\|,]{0,200}):(?!\\d{1,5}[?#/])' +
      `(?<s>${inPassword}{1,800}(?:@(?:(?![?#])${inPassword}){0,200}){0,3})@(?=[\\w\\[$%{-])`,
    check: isUrlPassword,
  },
  {
    name: 'url-password',
    isInWord: true,
    anchors: ['%3a%2f%2f'],
    isAnyCase: true,
    pattern: '%3A%2F%2F(?<u>[\\w.~+-]{0,200})%3A(?<s>(?:[\\w.~+!*-]|%(?!40|2F)[0-9A-F]{2}){4,800})%40(?=\\w)',
    check: isUrlPassword,
  },
  {
    name: 'url-token',
    isInWord: true,
    anchors: ['://', ':\\/\\/'],
    pattern: ':(?:\\\\?/){2}(?<s>[\\w.~+%=-]{16,800})(?::x-oauth-basic|:)?@(?=[A-Za-z0-9\\[])',
    check: (secret, match) => looksRandom(secret) || (match[0].includes(':x-oauth-basic@') && !isPlaceholder(secret)),
  },
];

function isUrlPassword(secret: string, match: RegExpExecArray, before: string): boolean {
  if (!/[A-Za-z][A-Za-z0-9+.-]{1,30}$/.test(before)) return false;
  const user = match.groups?.['u'] ?? '';
  if (secret.length < 4) return false;
  // `user:pass@` is what others find too, in manuals as well.
  const isFamous = /^pass$/i.test(secret);
  if ((isPlaceholder(secret) && !isFamous) || /^(?:\$|%[({A-Z]|\{|\[|:)/.test(secret) || /^(.)\1*$/.test(secret))
    return false;
  if (/^\d{1,5}$/.test(secret) && user.includes('.')) return false;
  if (user === '' && secret.includes(':')) return false;
  // A word alone is a password where the host is one of the world's.
  const behind = match.input.slice(match.index + match[0].length, match.index + match[0].length + 100);
  const host = /^[\w-]+(?:\.[\w-]+)*/.exec(behind)?.[0] ?? '';
  if (madeUpHost.test(host) && !isFamous && isWord(secret)) return false;
  if (/^[A-Za-z]{1,8}$/.test(secret) && !/\w\.[A-Za-z]{2,}/.test(host)) return false;
  return !(
    secret === user ||
    /^x-oauth-basic$/i.test(secret) ||
    /[(){}]/.test(secret) ||
    /^(?:postgres|mysql|pswd|letmein|word)$/i.test(secret)
  );
}

/** Tells whether a password is a word of a manual: `my-secret1`, not `Winter42!` or what a generator made. */
function isWord(secret: string): boolean {
  const isPlain = /^(?:[a-z_;@.+-]*|[a-z_;@.+-]*(?:pass|word|pwd|secret?|test)\d{1,4})$/i.test(secret);
  return isPlain && (secret.length < 12 || strangenessOf(secret) < strange);
}
