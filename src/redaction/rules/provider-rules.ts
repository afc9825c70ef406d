import { crc32 } from 'node:zlib';

import {
  base64,
  hasDigit,
  hasDigitAndBothCases,
  isAddress,
  isVaried,
  named,
  padding,
  prefixed,
  type SecretRule,
  separator,
  slash,
  uuid,
  wordEnd,
} from './rule.ts';
import forms from './provider-tokens.json' with { type: 'json' };

/** A row of provider-tokens.json: a token with a prefix, or a value beside the name of its provider. */
type TokenForm = { name: string; check?: string | undefined } & (
  | { prefixes: string; body: string }
  | { providers: string; value: string }
);

/** What the rows name as `check`. */
const checks: ReadonlyMap<string | undefined, Partial<SecretRule>> = new Map([
  [undefined, {}],
  ['digit', { check: hasDigit }],
  ['digit and both cases', { check: hasDigitAndBothCases }],
  ['varied', { check: isVaried }],
]);

function ruleOf(form: TokenForm): SecretRule {
  const more = checks.get(form.check);
  if (more === undefined) throw new Error(`the rule ${form.name} names the check '${form.check}', which there is not`);
  return 'prefixes' in form
    ? prefixed(form.name, form.prefixes, form.body.replaceAll('<uuid>', uuid), more)
    : named(form.name, form.providers, form.value.replaceAll('<uuid>', uuid), more);
}

/** The digits of a Discord account's number in base64 begin so. */
const discordStarts = Array.from({ length: 1000 }, (_, digits) => btoa(String(digits).padStart(3, '0')).slice(0, 3));
const digits = '0123456789'.split('');
const hexDigits = [...digits, ...'abcdef'.split('')];

/** Tokens of providers whose form a row cannot tell. */
const unusual: readonly SecretRule[] = [
  // Its last six characters are a checksum, which tells a token from what is written around it without a gap.
  {
    ...prefixed('github-token', 'ghp_ gho_ ghu_ ghs_ ghr_', ''),
    pattern: 'gh[pousr]_[A-Za-z0-9]{36}',
    isInWord: true,
    check: crc32Holds,
  },
  { ...prefixed('npm-token', 'npm_', ''), pattern: 'npm_[A-Za-z0-9]{36}', isInWord: true, check: crc32Holds },
  prefixed('terraform-token', '.atlasv1.', '', {
    before: [14],
    pattern: '[A-Za-z0-9]{14}\\.atlasv1\\.[\\w=-]{60,70}(?![\\w‹])',
  }),
  prefixed('octopus-key', 'API-', '[A-Z0-9]{26}', {
    check: (secret) => /[0-9]/.test(secret) && /[A-Z]/.test(secret.slice(4)),
  }),
  prefixed('aws-access-key-id', 'AKIA ASIA ABIA ACCA', '[A-Z2-7]{16}', { check: isNoExample }),
  {
    name: 'aws-secret-key',
    anchors: [
      'secret_access_key',
      'secretaccesskey',
      'secret-access-key',
      'aws_secret',
      'awssecret',
      'aws-secret',
      'secretkey',
      'secret_key',
    ],
    isAnyCase: true,
    pattern: `[a-z_-]{9,17}[\\w.-]{0,20}?${separator}(?<s>${base64}{40})${padding}?(?![\\w+/‹])`,
    isInWord: true,
    check: (secret) => isNoExample(secret) && !isAddress(secret) && isVaried(secret),
  },
  {
    name: 'aws-secret-key',
    anchors: ['AKIA', 'ASIA'],
    pattern: `A[KS]IA[A-Z2-7]{16}["']?[\\s,:;|]{1,4}["']?(?<s>[A-Za-z0-9+/]{40})(?![\\w+/=‹])`,
    check: (secret) => isNoExample(secret) && !isAddress(secret) && isVaried(secret),
  },
  {
    name: 'aws-session-token',
    anchors: ['session_token', 'sessiontoken', 'session-token', 'security-token', 'security_token'],
    isAnyCase: true,
    pattern: `[a-z_-]{12,14}${separator}(?<s>${base64}{100,700}${padding}{0,2})`,
    isInWord: true,
  },
  prefixed('azure-client-secret', '0Q~ 1Q~ 2Q~ 3Q~ 4Q~ 5Q~ 6Q~ 7Q~ 8Q~ 9Q~', '', {
    before: [3],
    pattern: '[\\w~.-]{3}\\dQ~[\\w~.-]{31,34}(?![\\w~‹])',
  }),
  prefixed('azure-devops-token', 'AZDO', '', { before: [76], pattern: '[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}(?![\\w‹])' }),
  prefixed('azure-key', 'JQQJ9', '', { before: [52], pattern: '[A-Za-z0-9]{52}JQQJ9[A-Za-z0-9]{20,34}(?![\\w‹])' }),
  {
    name: 'azure-storage-key',
    anchors: ['accountkey', 'account_key', 'sharedaccesskey', 'storage_key', 'storagekey', 'storage_account_key'],
    isAnyCase: true,
    pattern: `[a-z_]{10,19}${separator}(?<s>${base64}{43,88}${padding}{1,2})`,
    isInWord: true,
  },
  {
    name: 'azure-sas-signature',
    anchors: ['sig=', 'sig%3D'],
    pattern: 'sig(?:=|%3D)(?<s>(?:[\\w+/-]|%(?:25)?2[BbFf]){43}(?:=|%(?:25)?3[Dd]|(?![\\w%+/-])))',
    check: (_, match, before) =>
      /(?:[?&;]|%3F|%26)(?:s[vetrp]|sr|spr)(?:=|%3D)/.test(before + match.input.slice(match.index, match.index + 300)),
  },
  named(
    'azure-key',
    'azure ocp-apim-subscription ocp_apim cosmos',
    `[0-9a-f]{32}|${base64}{86}${padding}{2}|[A-Za-z0-9]{52}`,
  ),
  // Microsoft's keys name their service six characters before the end, or eight and padding.
  ...['AzFu', 'AzSe', 'AzCa', 'ACDb', 'AIoT', 'ASt', 'APIM', 'AEh', 'ASb', 'ACs'].map((service) =>
    prefixed('azure-key', service, '', {
      isInWord: true,
      anchors: [service],
      before: [33, 42, 44, 76],
      pattern: `(?<![\\w+/-])(?:[\\w+/-]{33}|[\\w+/-]{42}|[\\w+/-]{44}|[\\w+/-]{76})${service}[\\w+/-]{5,8}={0,2}(?![\\w‹])`,
    }),
  ),
  prefixed(
    'feishu-webhook',
    'open.feishu.cn open.larksuite.com',
    `${slash}open-apis${slash}bot${slash}v2${slash}hook${slash}(?<s>${uuid})`,
    {
      isInWord: true,
    },
  ),
  prefixed(
    'google-chat-webhook',
    'chat.googleapis.com',
    `${slash}v1${slash}spaces${slash}[\\w-]{5,20}${slash}messages[?]key(?:=|%3D)[\\w-]{39}(?:&|%26)token(?:=|%3D)(?<s>[\\w-]{40,50})`,
    {
      isInWord: true,
    },
  ),
  prefixed('yandex-secret', 'YC', '[\\w-]{38}', {
    anchors: ['YCA', 'YCB', 'YCM', 'YCN', 'YCO', 'YCP'],
    check: isVaried,
  }),
  {
    name: 'ethereum-key',
    anchors: ['private_key', 'privatekey', 'private-key'],
    isAnyCase: true,
    pattern: `private[_-]?key${separator}(?<s>0x[0-9a-fA-F]{64})${wordEnd}`,
    isInWord: true,
  },
  prefixed(
    'slack-webhook',
    'hooks.slack.com hooks.slack-gov.com',
    `${slash}(?:services|workflows|triggers)${slash}(?<s>(?:[A-Za-z0-9+]|${slash}){20,150})`,
  ),
  {
    name: 'discord-token',
    anchors: [...new Set(discordStarts)],
    pattern: '[MNO][A-Za-z0-9]{22,27}\\.[\\w-]{6}\\.[\\w-]{27,38}(?![\\w‹-])',
  },
  prefixed(
    'discord-webhook',
    'discord.com discordapp.com',
    `${slash}api${slash}(?:v\\d{1,2}${slash})?webhooks${slash}\\d{17,20}${slash}(?<s>[\\w-]{60,80})`,
    { isInWord: true },
  ),
  {
    name: 'telegram-token',
    anchors: [':AA', '%3AAA', '%3aAA'],
    before: [8, 9, 10],
    pattern: '[0-9]{8,10}(?::|%3[Aa])AA[\\w-]{33}(?![\\w‹-])',
    isInWord: true,
    check: (_, __, before) => !/\d$/.test(before),
  },
  prefixed(
    'teams-webhook',
    '.webhook.office.com',
    `${slash}webhookb2${slash}(?<s>[0-9a-f-]{36}(?:@|%40)[0-9a-f-]{36}${slash}IncomingWebhook${slash}[0-9a-f]{32}${slash}[0-9a-f-]{36})`,
    { isInWord: true },
  ),
  { name: 'twilio-key', anchors: hexDigits.map((digit) => `SK${digit}`), pattern: 'SK[0-9a-f]{32}(?![\\w‹])' },
  {
    name: 'twilio-account',
    anchors: hexDigits.map((digit) => `AC${digit}`),
    pattern: 'AC[0-9a-f]{32}["\']?[\\s,:;|]{1,4}["\']?(?<s>[0-9a-f]{32})(?![\\w‹])',
  },
  { name: 'mailgun-key', anchors: ['api:key-'], pattern: 'api:(?<s>key-[0-9a-z]{32})(?![\\w‹])' },
  {
    name: 'mailchimp-key',
    anchors: ['-us1', '-us2', '-us3', '-us4', '-us5', '-us6', '-us7', '-us8', '-us9'],
    before: [32],
    pattern: '[0-9a-f]{32}-us\\d{1,2}(?![\\w‹])',
  },
  named('paypal-secret', 'paypal braintree', '[\\w-]{80}|[0-9a-f]{32}', {
    check: (secret) => secret.length === 32 || hasDigitAndBothCases(secret),
  }),
  prefixed('adyen-key', 'AQE', '[A-Za-z0-9+/]{60,400}[-=](?:[\\w+/=<>.-]|%2[BbFf]|%3[Dd]){20,200}'),
  {
    name: 'asana-token',
    anchors: ['asana'],
    isAnyCase: true,
    isInWord: true,
    pattern: `asana[\\w.-]{0,40}${separator}(?<s>[0-2](?:/|%2[Ff])\\d{10,20}(?:/\\d{10,20})?(?::|%3[Aa])[0-9a-f]{32}|[0-9a-f]{32})(?![\\w‹])`,
  },
  {
    name: 'asana-token',
    anchors: digits.flatMap((digit) => [`1/${digit}`, `2/${digit}`, `1%2F${digit}`, `2%2F${digit}`]),
    pattern: '[12](?:/|%2F)\\d{15,17}(?:(?:/|%2F)\\d{15,17})?(?::|%3A)[0-9a-f]{32}(?![\\w‹])',
  },
  // A key of a server, and the token of a device.
  prefixed('firebase-key', ':APA91b %3AAPA91b', '', {
    before: [11, 22],
    pattern: '(?:[\\w-]{11}){1,2}(?::|%3A)APA91b[\\w-]{120,160}(?![\\w‹])',
  }),
  prefixed('node-url', '.g.alchemy.com .infura.io', `${slash}(?:ws${slash})?v\\d${slash}(?<s>[\\w-]{32})`, {
    isInWord: true,
  }),
  prefixed('zapier-webhook', 'hooks.zapier.com/hooks/catch/', '\\d{4,10}/(?<s>[a-z0-9]{5,12})', { isInWord: true }),
  prefixed('sentry-token', 'sntrys_', '(?:[\\w=+/-]|%2[BbFf]|%3[Dd]){60,500}'),
  prefixed('newrelic-key', 'NRAL', '', { before: [36], pattern: '[0-9a-fx]{36}NRAL(?![\\w‹])' }),
  { name: 'twitch-token', anchors: ['oauth:'], pattern: 'oauth:(?<s>[a-z0-9]{30})(?![\\w‹])', check: hasDigit },
  prefixed('intercom-token', 'dG9rO', '[A-Za-z0-9+/]{30,90}={0,2}', {
    check: (secret) => Buffer.from(secret, 'base64').toString('latin1').startsWith('tok:'),
  }),
  prefixed('maxmind-key', '_mmk', '', { before: [36], pattern: '[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk(?![\\w‹])' }),
];

/** Tokens of providers. Sources: the providers' pages on tokens and API keys, and GitHub's secret scanning. */
export const providerRules: readonly SecretRule[] = [...unusual, ...Object.values(forms).flat().map(ruleOf)];

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/**
 * Tells whether the last six characters of a token are the CRC-32 of the thirty before them, in base 62.
 *
 * GitHub's and npm's are. Source: github.blog, "Behind GitHub's new authentication token formats", 2021.
 */
function crc32Holds(token: string): boolean {
  let rest = crc32(token.slice(-36, -6));
  let checksum = '';
  for (let length = 0; length < 6; length++) {
    checksum = base62.charAt(rest % 62) + checksum;
    rest = Math.floor(rest / 62);
  }
  return token.endsWith(checksum);
}

/** The keys in the manuals of AWS end so. */
function isNoExample(secret: string): boolean {
  return !/EXAMPLE(?:KEY)?$/.test(secret);
}
