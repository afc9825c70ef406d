import { expect, test } from 'vitest';
import { knownSecrets } from '../../../src/engine/redact/known-secrets.ts';

const valuesOf = (...given: Parameters<typeof knownSecrets>): string[] =>
  knownSecrets(...given).map(({ value }) => value);

test.each([
  'GITHUB_TOKEN',
  'npm_config__authToken',
  'DB_PASS',
  'PGPASSWORD',
  'AWS_SECRET_ACCESS_KEY',
  'STRIPE_KEY',
  'KEY',
  'GH_PAT',
  'API_KEY_2',
  'SENTRY_DSN',
  'CREDENTIALS',
])('%s is the name of a secret', (name) => {
  expect(knownSecrets({ env: { [name]: 'a8Xc-2Lq9-vvT' } })).toEqual([{ name, value: 'a8Xc-2Lq9-vvT' }]);
});

test.each(['PATH', 'AUTHOR', 'TOKENIZERS_PARALLELISM', 'KEYBOARD', 'MONKEY', 'GIT_PAGER', 'COMPASS', 'OLDPWD', 'PWD'])(
  '%s is the name of none',
  (name) => {
    expect(knownSecrets({ env: { [name]: 'a8Xc-2Lq9-vvT' } })).toEqual([]);
  },
);

test('what an agent is given, and what it calls its key, is secret whatever its name', () => {
  const agent = {
    passEnv: ['PLAIN'],
    apiKeyEnv: 'OTHER',
    env: { INNER_TOKEN: 'inner-9fK2', HARMLESS: 'x' },
    mcpServers: { one: { env: { A_SECRET: 'deep-8sL1' }, headers: { Authorization: 'Bearer header-7dM0' } } },
    baseUrl: 'https://me:pw-4jQ8@host/v1?api_key=query-5tR6&page=1',
  };
  const config = { agents: { a: { name: 'a', package: 'p', config: agent } } };
  const env = { PLAIN: 'plain-1aB3', OTHER: 'other-2cD4', UNUSED: 'x' };
  expect(valuesOf({ env, config })).toEqual([
    'plain-1aB3',
    'other-2cD4',
    'inner-9fK2',
    'deep-8sL1',
    'header-7dM0',
    'pw-4jQ8',
    'query-5tR6',
  ]);
});

test("credentials in addresses and in git's configuration are secret", () => {
  const basic = Buffer.from('me:basic-3eF5').toString('base64');
  const set = (name: string, value: string) => ({ scope: 'local', name, value });
  const git = [
    set('remote.origin.url', 'https://me:p%40ss-6gH7@host/r.git'),
    set('remote.other.pushurl', 'https://token-8iJ9@host/r.git'),
    set('http.https://host/.extraheader', `AUTHORIZATION: basic ${basic}`),
    set('url.https://x:base-0kL1@host/.insteadof', 'gh:'),
    set('sendemail.smtppass', 'smtp-2mN3'),
    set('user.name', 'A U Thor'),
    set('remote.plain.url', 'git@host:r.git'),
  ];
  const env = { DATABASE_URL: 'postgres://u:db-4oP5@h/d', TOKEN_URL: 'https://host/token' };
  expect(valuesOf({ env, git })).toEqual([
    'db-4oP5',
    'p%40ss-6gH7',
    'p@ss-6gH7',
    'token-8iJ9',
    basic,
    'basic-3eF5',
    'base-0kL1',
    'smtp-2mN3',
  ]);
});
