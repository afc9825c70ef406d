import { describe, expect, test } from 'vitest';

import { createRedactor } from '../../src/redaction/create-redactor.ts';
import { Letters } from './kinds.ts';
import { commands, keyLines, prefixes } from './trial/commands.ts';
import { contexts } from './trial/contexts.ts';
import { secretsOf, type TrialSet } from './trial/formats.ts';
import { harmless, notations, passwordsOf, placeholders, plainNotations } from './trial/passwords.ts';

const redactor = createRedactor({ key: Buffer.alloc(32, 7), known: [] });
const redacted = (text: string): string => redactor.redactText(text).text;

/** What was tried, and what could still be read. */
function shareOf(tried: readonly { what: string; isFound: boolean }[]): { found: number; missed: string[] } {
  const missed = tried.filter(({ isFound }) => !isFound).map(({ what }) => what);
  return { found: 1 - missed.length / tried.length, missed };
}

test.each(['first', 'second', 'third'] satisfies TrialSet[])(
  'of secrets of providers in every context, 97 % are found (the %s set)',
  (set) => {
    const secrets = secretsOf(set, 1);
    expect(secrets.length).toBeGreaterThanOrEqual(75);
    const all = Object.values(contexts).flatMap((each) => Object.entries(each));
    const { found, missed } = shareOf(
      all.flatMap(([context, put]) =>
        secrets.map(({ name, text, parts }) => {
          const left = redacted(put(text, name));
          return { what: `${name} in ${context}`, isFound: parts.every((part) => !left.includes(part.slice(0, 9))) };
        }),
      ),
    );
    expect(found, missed.join('\n')).toBeGreaterThanOrEqual(0.97);
  },
);

describe('a password under a name that says so', () => {
  test.each(['first', 'second'] as const)('is found in every notation, 95 of 100 (the %s set)', (set) => {
    const passwords = passwordsOf(set, 200);
    const { found, missed } = shareOf(
      Object.values(notations).flatMap((put) =>
        passwords.map(({ name, secret }) => {
          const text = put(secret, name);
          return { what: text, isFound: redacted(text) !== text && !redacted(text).includes(secret) };
        }),
      ),
    );
    expect(found, missed.join('')).toBeGreaterThanOrEqual(0.95);
  });

  test('is found on command lines, in headers and in cookies', () => {
    const { missed } = shareOf(
      [...commands.first, ...commands.second].flatMap((form, at) =>
        [new Letters(at + 1).alnum(14), 'Winter42!x'].map((secret) => {
          const text = form(secret);
          return { what: text, isFound: !redacted(text).includes(secret) };
        }),
      ),
    );
    expect(missed).toEqual([]);
  });

  test('is none where it stands for one, and other lines have none', () => {
    const forms = Object.values(plainNotations);
    const names = ['DB_PASSWORD', 'password', 'dbPassword', 'ADMIN_PW'];
    const lines = placeholders
      .split(' ')
      .flatMap((value) => forms.flatMap((put) => names.map((name) => put(value, name))));
    expect(lines.length).toBeGreaterThan(3000);
    for (const text of [...lines, ...harmless]) expect(redacted(text)).toBe(text);
  });

  test('is a fixture in files of tests, examples and documentation, unless it is random', () => {
    const random = `password: "${new Letters(3).alnum(24)}"`;
    for (const path of [
      'test/login.js',
      'src/login.test.ts',
      'src/UserTest.java',
      'docs/start.txt',
      '.env.example',
      'README.md',
    ]) {
      expect(redactor.redactText("password: 'wombat77'", path).hits, path).toEqual([]);
      expect(redactor.redactText(random, path).hits, path).toHaveLength(1);
    }
    for (const path of ['config.yaml', 'src/commit.js', 'contest/a.ts', undefined])
      expect(redactor.redactText("password: 'wombat77'", path).hits, path).toHaveLength(1);
  });
});

test('a private key is found with something before each line, and its end where its beginning is missing', () => {
  for (const [at, prefix] of [...prefixes.first, ...prefixes.second].entries()) {
    const lines = keyLines('OPENSSH PRIVATE KEY', new Letters(at + 1), 6);
    const key = lines.slice(1, -1);
    for (const shown of [lines, lines.slice(3)]) {
      const text = `before\n${shown.map((line, n) => prefix(line, n + 1)).join('\n')}\nbehind\n`;
      const left = redacted(text);
      for (const line of key) expect(left, text).not.toContain(line);
      expect(left).toMatch(/^before\n[^]*\nbehind\n$/);
    }
  }
});
