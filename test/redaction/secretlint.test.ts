import { expect, test } from 'vitest';

import { createRedactor } from '../../src/redaction/create-redactor.ts';
import { kinds, Letters } from './kinds.ts';

/** What is used of secretlint 12. */
type Message = { ruleId: string; range: [number, number] };
type Core = { lintSource: (what: object) => Promise<{ messages: Message[] }> };
type Preset = { creator: object };

const preset = '@secretlint/secretlint-rule-preset-recommend';
/** The types of its packages need other options of the compiler. */
const load = async (name: string): Promise<unknown> => import(name);
const core = (await load('@secretlint/core')) as Core;
const { creator } = (await load(preset)) as Preset;

async function lint(content: string, filePath: string): Promise<Message[]> {
  const { messages } = await core.lintSource({
    source: { filePath, content, ext: '.txt', contentType: 'text' },
    options: { config: { rules: [{ id: preset, rule: creator, options: {} }] }, noPhysicFilePath: true },
  });
  return messages.filter(({ range }) => range[1] > range[0]);
}

const a = new Letters(21);
const pem = (label: string): string =>
  [`-----BEGIN ${label}-----`, ...Array.from({ length: 12 }, () => a.base64(64)), `-----END ${label}-----`].join('\n');

/** The forms of the samples that the preset is tested with, one after the other; what they hold is made here. */
const samples: readonly string[] = [
  `ops_${Buffer.from(JSON.stringify({ email: a.alnum(40), key: a.alnum(300) })).toString('base64')}`,
  `sk-ant-api03-${a.url64(93)}AA`,
  `AWS_SECRET_ACCESS_KEY = ${a.base64(40)}`,
  `"aws_secret_access_key": "${a.base64(40)}"`,
  'see ftp://user:pass@acme.dev and https://user:pass@acme.dev or ftps://user:pass@acme.dev',
  '[a link](https://user:pass@acme.dev) and <http://user:secret123@api.acme.dev>',
  `https://apiuser:r3al${a.alnum(8)}@api.production.com, https://backup-user:Backup${a.digits(3)}@backup.acme.dev`,
  `cfk_${a.alnum(40)}${a.hex(8)} cfut_${a.alnum(40)}${a.hex(8)} cfat_${a.alnum(40)}${a.hex(8)}`,
  `mongodb://realuser:${a.alnum(10)}@db1.acme.dev:27017/production mongodb+srv://app:my${a.alnum(5)}@${a.alnum(6)}@cluster0.mongodb.net/my`,
  `mysql://dbuser:${a.alnum(9)}@mysql.acme.dev:3306/db jdbc:mysql://admin:${a.alnum(9)}@db.acme.dev:3306/app_db`,
  `postgresql://pg:${a.alnum(10)}@pg.acme.dev:5432/db postgres://api:${a.alnum(10)}@localhost:5432/api`,
  `dapi${a.hex(32)} dapi${a.hex(32)}-2`,
  `dckr_pat_${a.url64(27)}`,
  `figd_${a.url64(40)}`,
  `ghp_${a.alnum(36)} gho_${a.alnum(36)} ghu_${a.alnum(36)} ghs_${a.alnum(36)} ghr_${a.alnum(36)}`,
  `github_pat_${a.alnum(22)}_${a.alnum(59)}`,
  `glpat-${a.url64(20)} glpat-${a.url64(27)}.01.${a.lower(9)}`,
  `glc_eyJ${a.alnum(80)}== glsa_${a.alnum(32)}_${a.hex(8)}`,
  `gsk_${a.alnum(52)}`,
  `hvs.${a.url64(95)} hvb.${a.url64(140)} hvr.${a.url64(92)}`,
  `hf_${'x'.repeat(34)}`,
  `lin_api_${a.alnum(32)}EXAMPLE`,
  `ntn_${a.digits(11)}${a.alnum(35)}`,
  `npm_${a.alnum(36)}`,
  `//registry.npmjs.org/:_authToken=${a.uuid()}`,
  `"dependencies": { "a": "git+https://${a.hex(40)}:x-oauth-basic@github.com/acme/a.git" }`,
  `sk-${a.alnum(20)}T3BlbkFJ${a.alnum(20)} sk-proj-${a.url64(74)}T3BlbkFJ${a.url64(74)}`,
  pem('PRIVATE KEY'),
  pem('RSA PRIVATE KEY'),
  pem('EC PRIVATE KEY'),
  pem('OPENSSH PRIVATE KEY'),
  JSON.stringify({ type: 'service_account', private_key_id: a.hex(40), private_key: `${pem('PRIVATE KEY')}\n` }),
  `SG.${a.url64(22)}.${a.url64(43)}`,
  `shppa_${a.hex(32)} shpca_${a.hex(32)} shpat_${a.hex(32)} shpss_${a.hex(32)}`,
  `https://hooks.slack.com/services/T${a.upper(8)}/B${a.upper(8)}/${a.alnum(24)}`,
  `https://hooks.slack.com/services/T${'X'.repeat(5)}/B${'X'.repeat(5)}/${'X'.repeat(10)}`,
  `xoxb-${a.digits(12)}-${a.digits(12)}-${a.alnum(24)} xoxp-${a.digits(11)}-${a.digits(11)}-${a.digits(12)}-${a.hex(32)}`,
  `xapp-1-A${a.upper(10)}-${a.digits(13)}-${a.hex(64)} xoxa-2-${a.digits(12)}-${a.digits(12)}-${a.hex(32)}`,
  ...['sk_live', 'sk_test', 'rk_live', 'rk_test'].map(
    (prefix) => `${prefix}_${'A'.repeat(24)} ${prefix}_${a.alnum(24)}`,
  ),
  ...['api', 'auth', 'client', 'scim', 'webhook', 'other'].map((type) => `tskey-${type}-${a.alnum(12)}-${a.alnum(24)}`),
  `1tskey-api-${'A'.repeat(12)}-${'B'.repeat(24)} _tskey-api-${a.alnum(12)}-${a.alnum(24)}`,
  `vcp_${a.alnum(24)} vci_${a.alnum(24)} vca_${a.alnum(24)} vcr_${a.alnum(24)} vck_${a.alnum(56)}`,
];

test('what secretlint finds by its recommended rules is found', async () => {
  const redactor = createRedactor({ key: Buffer.alloc(32, 7), known: [] });
  const ids = new Set<string>();
  let found = 0;
  for (const sample of [...samples, ...kinds.map(({ make, name }) => `${name ?? 'value'}=${make(a)}`)]) {
    const content = `first line\n${sample}\nlast line\n`;
    const messages = [...(await lint(content, '/acme/.npmrc')), ...(await lint(content, '/acme/package.json'))];
    const { hits } = redactor.redactText(content);
    for (const { ruleId, range } of messages) {
      ids.add(ruleId);
      found++;
      const isFound = hits.some(({ start, end }) => start < range[1] && end > range[0]);
      expect(isFound, `${ruleId}: ${content.slice(...range)}`).toBe(true);
    }
  }
  // As many rules as find something in these, so that the comparison is one.
  expect(ids.size).toBeGreaterThanOrEqual(22);
  expect(found).toBeGreaterThanOrEqual(170);
});
