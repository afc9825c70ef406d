import { base64, named, padding, prefixed, separator, uuid, wordEnd } from './rule.ts';
import type { Rule } from './rule.ts';
import { isAddress } from '../looks-random.ts';

/** Tokens for machines, networks, databases and stores of secrets. Sources: the providers' pages, and GitHub's secret scanning. */
export const cloudRules: readonly Rule[] = [
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
  prefixed('aws-bedrock-key', 'ABSK', '[A-Za-z0-9+/]{109,269}={0,2}'),
  prefixed('aws-bedrock-key', 'bedrock-api-key-', '[A-Za-z0-9+/]{60,2000}={0,2}'),
  prefixed('google-api-key', 'AIza', '[\\w-]{35}'),
  prefixed('google-api-key', 'AQ.Ab', '[\\w-]{40,80}'),
  prefixed('google-oauth-token', 'ya29.', '[\\w-]{20,1500}'),
  prefixed('google-oauth-secret', 'GOCSPX-', '[\\w-]{28}'),
  prefixed('google-refresh-token', '1//0 1%2F%2F0', '[\\w-]{40,120}'),
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
    anchors: ['sig='],
    pattern: 'sig=(?<s>(?:[A-Za-z0-9+/]|%2[BbFf]){43}(?:=|%3[Dd]))',
    check: (_, match, before) =>
      /[?&;](?:s[vetrp]|sr|spr)=/.test(before + match.input.slice(match.index, match.index + 300)),
  },
  named(
    'azure-key',
    'azure ocp-apim-subscription ocp_apim cosmos',
    `[0-9a-f]{32}|${base64}{86}${padding}{2}|[A-Za-z0-9]{52}`,
  ),
  prefixed('digitalocean-token', 'dop_v1_ doo_v1_ dor_v1_', '[0-9a-f]{64}'),
  prefixed('digitalocean-spaces-key', 'DO00', '[A-Z0-9]{16}', { check: isVaried }),
  prefixed(
    'doppler-token',
    'dp.pt. dp.st. dp.ct. dp.scim. dp.audit. dp.sa. dp.said.',
    '(?:[a-z0-9_-]{2,35}\\.)?[A-Za-z0-9]{40,44}',
  ),
  prefixed('fly-token', 'fo1_', '[\\w-]{43}'),
  prefixed('fly-token', 'fm1r_ fm1a_ fm2_', '[A-Za-z0-9+/]{100,2500}={0,3}'),
  prefixed('heroku-key', 'HRKU-', '[\\w-]{36,70}'),
  prefixed('netlify-token', 'nfp_ nfc_ nfo_ nfb_ nfu_', '[A-Za-z0-9_-]{36,60}'),
  prefixed('vercel-token', 'vcp_ vci_ vca_ vcr_ vck_', '[A-Za-z0-9]{20,64}'),
  prefixed('vercel-blob-token', 'vercel_blob_rw_', '[A-Za-z0-9]{10,24}_[A-Za-z0-9]{24,40}'),
  prefixed('supabase-token', 'sbp_ sb_secret_', '(?:v0_|oauth_)?[\\w-]{31,64}'),
  prefixed('planetscale-token', 'pscale_tkn_ pscale_pw_ pscale_oauth_', '[\\w=.-]{32,64}'),
  prefixed('neon-key', 'napi_', '[a-z0-9]{40,80}'),
  prefixed('neon-password', 'npg_', '[A-Za-z0-9]{10,40}', { check: isVaried }),
  prefixed('cloudflare-token', 'cfk_ cfut_ cfat_', '[A-Za-z0-9]{40}[0-9a-f]{8}'),
  prefixed('cloudflare-origin-key', 'v1.0-', '[0-9a-f]{24}-[0-9a-f]{146}'),
  named('cloudflare-key', 'cloudflare cf_api cf_token cf-', '[0-9a-f]{37}|[\\w-]{40}', { check: isVaried }),
  named('fastly-token', 'fastly', '[\\w-]{32}', { check: isVaried }),
  prefixed('alibaba-key-id', 'LTAI', '[A-Za-z0-9]{12,26}', { check: isVaried }),
  named('alibaba-secret', 'alibaba aliyun alicloud', '[A-Za-z0-9]{30}'),
  prefixed('tencent-key-id', 'AKID', '[A-Za-z0-9]{32,36}'),
  named('tencent-secret', 'tencent', '[A-Za-z0-9]{32}'),
  prefixed('yandex-key', 'AQVN', '[\\w-]{35,38}'),
  prefixed('yandex-token', 't1.', '[\\w-]{20,600}={0,2}\\.[\\w-]{86}={0,2}'),
  prefixed('yandex-token', 'y0_ y1_ y2_ y3_', '[\\w-]{50,60}'),
  prefixed('yandex-secret', 'YC', '[\\w-]{38}', {
    anchors: ['YCA', 'YCB', 'YCM', 'YCN', 'YCO', 'YCP'],
    check: isVaried,
  }),
  named('ibm-key', 'ibm softlayer watson', '[\\w-]{44}'),
  named('scaleway-secret', 'scw_ scaleway', uuid),
  named('linode-token', 'linode', '[0-9a-f]{64}'),
  named('hetzner-token', 'hcloud hetzner', '[A-Za-z0-9]{64}'),
  named('heroku-key', 'heroku', uuid),
  named('vultr-key', 'vultr', '[A-Z0-9]{36}'),
  named('ovh-secret', 'ovh_', '[A-Za-z0-9]{32}'),
  prefixed('render-key', 'rnd_', '[A-Za-z0-9]{28,40}'),
  prefixed('databricks-token', 'dapi dkea dsapi', '[0-9a-fA-F]{32}(?:-\\d)?'),
  prefixed('clickhouse-key', '4b1d', '[A-Za-z0-9]{38}', { check: isVaried }),
  prefixed('confluent-secret', 'cflt', '[A-Za-z0-9+/]{60}'),
  named('confluent-secret', 'confluent', '[A-Za-z0-9+/]{64}'),
  prefixed('aiven-password', 'AVNS_', '[\\w-]{15,24}', { check: isVaried }),
  prefixed('vault-token', 'hvs. hvb. hvr.', '[\\w-]{24,300}'),
  named('vault-token', 'vault', '[sbr]\\.[A-Za-z0-9]{24}'),
  prefixed('1password-token', 'ops_', 'ey[A-Za-z0-9+/=_-]{100,2500}'),
  prefixed('1password-secret-key', 'A3-', '[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}'),
  prefixed('infisical-token', 'st.', '[0-9a-f-]{24,36}\\.[0-9a-f]{32}\\.[0-9a-f]{32}'),
  prefixed('age-key', 'AGE-SECRET-KEY-1', '[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}'),
  prefixed('tailscale-key', 'tskey-', '[a-z]{2,20}-[0-9A-Za-z_]{8,40}-[0-9A-Za-z_]{16,60}'),
  prefixed('tailscale-key', 'tskey-', '[A-Za-z0-9]{16,40}', { check: isVaried }),
  prefixed('ngrok-token', 'ak_ ngrok_', '[A-Za-z0-9]{26,27}_?[A-Za-z0-9]{0,22}', { check: isVaried }),
  named('ngrok-token', 'ngrok', '[A-Za-z0-9]{24,30}_[A-Za-z0-9]{20,24}'),
  prefixed('nebius-token', 'v1.CmQK', '[\\w-]{100,800}'),
  {
    name: 'ethereum-key',
    anchors: ['private_key', 'privatekey', 'private-key'],
    isAnyCase: true,
    pattern: `private[_-]?key${separator}(?<s>0x[0-9a-fA-F]{64})${wordEnd}`,
    isInWord: true,
  },
];

/** The keys in the manuals of AWS end so. */
function isNoExample(secret: string): boolean {
  return !/EXAMPLE(?:KEY)?$/.test(secret);
}

/** Letters and digits, as random characters have them. */
function isVaried(secret: string): boolean {
  return /\d/.test(secret) && /[A-Za-z]/.test(secret) && new Set(secret).size >= 8;
}
