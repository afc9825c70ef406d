import { expect, test, describe } from 'vitest';
import { createRedactor } from '../../src/redaction/create-redactor.ts';
import { markOf, RedactionFailed, type Redactor } from '../../src/redaction/redactor.ts';
import { hitsInText, hitsInValue } from '../../src/thread/secret-scan.ts';

const key = Buffer.alloc(32, 1);
const secret = 'correct horse battery staple';
const redactor = createRedactor({
  key,
  known: [secret],
  rules: [{ name: 'acme-token', pattern: 'acme-[0-9]{6}' }],
  allow: [{ rule: 'acme-token', path: 'fixtures/**' }],
});
const rule = redactor.redactText(secret).hits[0]?.rule ?? '';

/** A redactor whose rules do not come to an end. */
const failing: Redactor = {
  ...redactor,
  redactText: () => {
    throw new RedactionFailed('too slow', 'simplify the rule');
  },
  redactValue: () => {
    throw new RedactionFailed('too slow', 'simplify the rule');
  },
};

describe('the secrets in a text', () => {
  test('are told by their lines, in order, several in one line too', () => {
    const text = `one\n${secret}\nthree\nfour acme-123456 and ${secret}\n\n${secret}`;
    expect(hitsInText(redactor, text)).toEqual([
      { at: 'line 2', rule },
      { at: 'line 4', rule: 'acme-token' },
      { at: 'line 4', rule },
      { at: 'line 6', rule },
    ]);
  });

  test('in its first line stand in line 1, and at the start of a line in that line', () => {
    expect(hitsInText(redactor, `${secret}\n`)).toEqual([{ at: 'line 1', rule }]);
    expect(hitsInText(redactor, `\n${secret}`)).toEqual([{ at: 'line 2', rule }]);
    expect(hitsInText(redactor, 'nothing\nhere\n')).toEqual([]);
  });

  test('are none where their rule is allowed in the file', () => {
    expect(hitsInText(redactor, 'acme-123456', 'fixtures/a.txt')).toEqual([]);
    expect(hitsInText(redactor, 'acme-123456', 'src/a.txt')).toEqual([{ at: 'line 1', rule: 'acme-token' }]);
  });

  test('that cannot be searched for are told of like a secret', () => {
    expect(hitsInText(failing, 'a text')).toEqual([{ at: 'line 1', rule: 'could-not-be-searched' }]);
  });

  test('are not what an error of another kind is taken for', () => {
    const broken: Redactor = {
      ...redactor,
      redactText: () => {
        throw new TypeError('a bug');
      },
    };
    expect(() => hitsInText(broken, 'a text')).toThrow(TypeError);
  });
});

describe('the secrets in a value', () => {
  test('are told by pointers, in members and lists however deep', () => {
    const value = { plain: 'text', deep: [1, { token: secret }, secret], 'a/b': `x ${secret} acme-123456` };
    expect(hitsInValue(redactor, value)).toEqual([
      { at: '/deep/1/token', rule },
      { at: '/deep/2', rule },
      { at: '/a~1b', rule },
      { at: '/a~1b', rule: 'acme-token' },
    ]);
  });

  test('in the name of a member are told by the name without them', () => {
    const name = markOf(rule, secret, key);
    expect(hitsInValue(redactor, { first: 1, [secret]: { inner: secret } })).toEqual([
      { at: `/${name}`, rule },
      { at: `/${name}/inner`, rule },
    ]);
  });

  test('are told of once for each place, and marks of earlier secrets are none', () => {
    const mark = markOf(rule, 'another', key);
    expect(hitsInValue(redactor, [mark, `${mark} and ${secret}`, secret])).toEqual([
      { at: '/1', rule },
      { at: '/2', rule },
    ]);
    expect(hitsInValue(redactor, secret)).toEqual([{ at: '', rule }]);
    expect(hitsInValue(redactor, { a: null, b: [true, 2], c: {} })).toEqual([]);
  });

  test('that cannot be searched for are told of like a secret', () => {
    expect(hitsInValue(failing, { a: 1 })).toEqual([{ at: '', rule: 'could-not-be-searched' }]);
  });
});
