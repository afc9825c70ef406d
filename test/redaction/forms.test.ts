import { describe, expect, test } from 'vitest';

import { createRedactor } from '../../src/redaction/create-redactor.ts';
import { Letters } from './kinds.ts';

const redactor = createRedactor({ key: Buffer.alloc(32, 7), known: [] });
const letters = new Letters(11);
const password = letters.alnum(14);
const inBase64 = (text: string): string => Buffer.from(text).toString('base64');

describe('a credential in a form is found', () => {
  test.each([
    ['a URL', (secret: string) => `postgres://app:${secret}@db.acme.dev:5432/main?sslmode=require`],
    ['a URL without a user', (secret: string) => `redis://:${secret}@cache:6379/0`],
    [
      'a URL with signs that belong in escapes',
      (secret: string) => `mongodb+srv://app:p@${secret}@cluster0.acme.dev/main`,
    ],
    ['a URL of a remote', (secret: string) => `origin\thttps://oauth2:${secret}@git.acme.dev/a/b.git (fetch)`],
    [
      'a URL in JSON',
      (secret: string) => JSON.stringify({ url: `amqp://app:${secret}@mq/%2f` }).replaceAll('/', '\\/'),
    ],
    ['a URL in a URL', (secret: string) => `?next=${encodeURIComponent(`https://me:${secret}@acme.dev/a`)}&b=1`],
    [
      'a connection string',
      (secret: string) => `Server=tcp:acme.dev,1433;Database=main;User ID=app;Password=${secret};Encrypt=True;`,
    ],
    ['the words of libpq', (secret: string) => `host=db user=app password=${secret} dbname=main`],
    [
      'an authorization header',
      (secret: string) => `curl -H "Authorization: Bearer ${secret}${secret}" https://acme.dev`,
    ],
    ['a header of a proxy', (secret: string) => `Proxy-Authorization: Basic ${inBase64(`me:${secret}`)}`],
    ['a header in JSON', (secret: string) => JSON.stringify({ headers: { authorization: `token ${secret}` } })],
    ['a header with a key', (secret: string) => `x-api-key: ${secret}${secret}`],
    ['a .netrc', (secret: string) => `machine acme.dev\n  login me\n  password ${secret}\n`],
    ['an .npmrc', (secret: string) => `//registry.acme.dev/:_authToken=${secret}\n`],
    ['a configuration of Docker', (secret: string) => `{"auths":{"acme.dev":{"auth":"${inBase64(`me:${secret}`)}"}}}`],
    ['a command', (secret: string) => `curl -sS -u me:${secret} https://acme.dev`],
    ['a password file of Postgres', (secret: string) => `db.acme.dev:5432:main:app:${secret}\n`],
    ['a URL of JDBC', (secret: string) => `jdbc:postgresql://db.acme.dev/main?user=app&ssl=true&password=${secret}`],
    ['settings of Django', (secret: string) => `SECRET_KEY = 'django-insecure-${secret}${secret}(=+&^)'`],
    ['a short password at a host', () => 'mysql://root:Wint3r!@db.acme.dev/shop'],
    ['a made password at a host of manuals', () => 'postgres://app:s3cur3Pass@db.example.com/main'],
    ['a season at this machine', () => 'mysql://root:Winter2042!@localhost:3306/shop'],
    ['an option', (secret: string) => `deploy --api-key ${secret}${secret} --force`],
    [
      'a signed URL',
      (secret: string) => `?sv=2024-11-04&se=2026&sig=${encodeURIComponent(`${secret.repeat(4).slice(0, 43)}=`)}&sp=r`,
    ],
  ])('%s', (_, inForm) => {
    const given = inForm(password);
    const { text, hits } = redactor.redactText(given);
    expect(hits.length, given).toBe(1);
    for (const part of [password, 'Wint', 's3cur', inBase64(`me:${password}`)]) expect(text).not.toContain(part);
  });

  const block = (label: string, newline: string): string =>
    [
      `-----BEGIN ${label}-----`,
      ...Array.from({ length: 5 }, () => letters.base64(64)),
      `${letters.base64(22)}==`,
      `-----END ${label}-----`,
    ].join(newline);

  test.each([
    'PRIVATE KEY',
    'RSA PRIVATE KEY',
    'EC PRIVATE KEY',
    'OPENSSH PRIVATE KEY',
    'ENCRYPTED PRIVATE KEY',
    'PGP PRIVATE KEY BLOCK',
  ])('a block of %s, whole', (label) => {
    const forms = [
      block(label, '\n'),
      block(label, '\r\n'),
      block(label, '\\n'),
      block(label, '\n    '),
      block(label, '\n+'),
      block(label, ' '),
    ];
    for (const form of [...forms, JSON.stringify(block(label, '\n')), `"${block(label, '\\n" +\n  "')}"`]) {
      const { text, hits } = redactor.redactText(`before ${form} behind`);
      expect(hits.map(({ rule }) => rule)).toEqual(['private-key']);
      expect(text).toMatch(/^before "?‹redacted:private-key:[0-9a-f]{8}›"? behind$/u);
    }
  });

  const body = (): string => [1, 2, 3, 4].map(() => letters.base64(64)).join('\n');

  test('a key of PuTTY', () => {
    const given = `PuTTY-User-Key-File-3: ssh-ed25519\nPublic-Lines: 1\n${letters.base64(48)}\nPrivate-Lines: 4\n${body()}\nPrivate-MAC: ${letters.hex(64)}\n`;
    for (const text of [given, JSON.stringify(given)])
      expect(redactor.redactText(text).text).toMatch(
        /Public-Lines: 1.*?‹redacted:private-key:[0-9a-f]{8}›\s*(?:\\n)?Private-MAC/su,
      );
  });

  test('a block in a URL, and one in base64, but no certificate in base64', () => {
    const key = `-----BEGIN EC PRIVATE KEY-----\n${body()}\n-----END EC PRIVATE KEY-----\n`;
    const mark = '‹redacted:private-key:[0-9a-f]{8}›';
    expect(redactor.redactText(`?key=${encodeURIComponent(key)}&b=1`).text).toMatch(
      new RegExp(`^\\?key=${mark}(?:%0A)?&b=1$`, 'u'),
    );
    expect(redactor.redactText(`user:\n  client-key-data: ${inBase64(key)}\n  name: me\n`).text).toMatch(
      new RegExp(`^user:\n  client-key-data: ${mark}\n  name: me\n$`, 'u'),
    );
    const certificate = `client-certificate-data: ${inBase64(key.replaceAll('EC PRIVATE KEY', 'CERTIFICATE'))}\n`;
    expect(redactor.redactText(certificate).hits).toEqual([]);
  });

  test('a block with headers, and one that is cut off', () => {
    const headers = 'Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,0011223344556677\n\n';
    const whole = block('RSA PRIVATE KEY', '\n').replace('-----\n', `-----\n${headers}`);
    expect(redactor.redactText(whole).text).toMatch(/^‹redacted:private-key:[0-9a-f]{8}›$/u);
    const cut = block('RSA PRIVATE KEY', '\n').slice(0, 250);
    expect(redactor.redactText(cut).text).toMatch(/^‹redacted:private-key:[0-9a-f]{8}›/u);
  });
});

describe('what is no secret stays', () => {
  const hex = (length: number): string => letters.hex(length);
  test.each([
    [
      'object ids and digests',
      () => `token: ${hex(40)}\nsecret = "${hex(64)}"\napi_key: ${hex(128)}\nsession_id=${hex(12)}`,
    ],
    [
      'digests with a name',
      () =>
        `secret: sha256-${letters.base64(43)}=\ntoken="sha512:${hex(128)}"\n"integrity": "sha512-${letters.base64(86)}=="`,
    ],
    [
      'digests and ids beside names in every notation',
      () =>
        [
          `SHA256:${letters.base64(43)}`,
          `h1:${letters.base64(43)}=`,
          `${hex(40)}..${hex(40)}`,
          `refs/threads/01JD${letters.of('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 22)}`,
        ]
          .flatMap((id) => [
            `token: ${id}`,
            `| secret | ${id} |`,
            `\`api_key\` to \`${id}\``,
            `authorization=\u001B[33m${id}\u001B[0m`,
          ])
          .join('\n'),
    ],
    [
      'ULIDs and UUIDs',
      () => `token=01JD${letters.of('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 22)} secret: "${letters.uuid()}"`,
    ],
    ['hashes of nodes', () => `"token": "${letters.of('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 13)}"`],
    ['an image', () => `token: <img src="data:image/png;base64,iVBORw0KGgo${letters.base64(4000)}=">`],
    ['a source map', () => `//# sourceMappingURL=data:application/json;base64,${letters.base64(3000)}`],
    [
      'a variable',
      () =>
        'token=$GITHUB_TOKEN password="${DB_PASSWORD}" api_key: ${{ secrets.API_KEY_1 }} secret={{ .Values.secret1 }} pwd=%PASSWORD1%',
    ],
    [
      'a placeholder',
      () =>
        'password: <your-password> token=xxxxxxxxxxxxxxxxxxxx api_key="your-api-key-here-1" secret: changeme123456 pwd=********',
    ],
    [
      'a URL with placeholders',
      () =>
        'https://user:password@acme.dev http://$USER:$PASS@acme.dev postgres://{user}:{password}@db https://<user>:<token>@acme.dev',
    ],
    [
      'a URL of a manual',
      () =>
        'https://home-user:home-pass@example.com ftp://user1:secret123@www.example.com mysql://johndoe:randompassword@localhost:3306/db ssh://user:passw@rd@host/a',
    ],
    [
      'credentials of manuals',
      () =>
        `curl -u testuser:testpass x\nmachine acme.dev login me password pass1\nAuthorization: Basic ${inBase64('me:password1')}`,
    ],
    [
      'a session, a file, a row of the alphabet, and what the next line says',
      () =>
        `session_id: 'sesn_${letters.alnum(24)}' join(pwd, './data/pcg64dxsm-1.csv') token: 'ABCDEFGHIJKLMNOP' me's password:\n\nroot@30aa0cfaf1b5:/#`,
    ],
    [
      'the name of a key, and letters in a longer word',
      () =>
        `PrivateKey=ALICE_cf_c2pnb163v1\nPrivateKey=KAS-ECC-CDH_P-192_C0\n"lutclpwdlgbw","${letters.of('bcdfghjklmnpqrstvwxz', 17)}":"x"`,
    ],
    [
      'code',
      () =>
        'const token = await readTokenFromConfig2(path); password = process.env.DB_PASSWORD_2; secretKey: options.signing.keyV2,',
    ],
    [
      'names',
      () =>
        '"tokenType": "urn:ietf:params:oauth:token-type:jwt", "secretName": "prod-db-credentials-v2", token_url="https://acme.dev/oauth2/token"',
    ],
    [
      'headers of no one',
      () =>
        'Authorization: Bearer <token>\nAuthorization: Bearer ${token}\nAuthorization: Basic realm="Restricted"\nx-api-key: YOUR_API_KEY',
    ],
    [
      'words on keys',
      () =>
        'It begins with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY-----. Then the text goes on as it was.',
    ],
    [
      'a public key',
      () =>
        `-----BEGIN PUBLIC KEY-----\n${letters.base64(64)}\n-----END PUBLIC KEY-----\nssh-ed25519 AAAA${letters.base64(64)} me@acme`,
    ],
    [
      'the example of a manual',
      () => 'AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE\nAWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
    ],
    [
      'a place to go on from',
      () => `"nextPageToken": "${letters.base64(40)}", "continuation_token": "${letters.alnum(40)}"`,
    ],
  ])('%s', (_, make) => {
    for (let round = 0; round < 20; round++) {
      const text = make();
      expect(redactor.redactText(text)).toEqual({ text, hits: [] });
    }
  });
});
