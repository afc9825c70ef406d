import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { extractReply, renderFields } from '../../../src/agent/extract/extract-reply.ts';
import type { JsonObject } from '../../../src/json.ts';

const anything = { type: 'object' };

async function metaOf(yaml: string): Promise<JsonObject> {
  const extraction = await extractReply(`---\n${yaml}\n---\n`, anything);
  if (extraction.kind !== 'ok') throw new Error(JSON.stringify(extraction));
  return extraction.meta;
}

async function errorsOf(yaml: string, schema: JsonObject = anything): Promise<string> {
  const extraction = await extractReply(`---\n${yaml}\n---\n`, schema);
  if (extraction.kind !== 'invalid') throw new Error(JSON.stringify(extraction));
  return extraction.errors.join('\n');
}

describe('values', () => {
  test('are what YAML 1.2 says, and nothing else', async () => {
    expect(
      await metaOf(
        [
          'date: 2026-01-31',
          'yes: yes',
          'octal: 007',
          'hex: 0x1F',
          'exponent: 1e3',
          'null: ~',
          'flag: true',
          'version: 1.10',
          'list: [1, "1", a b]',
          'block: |',
          '  one',
          '  two',
          '1: one',
          '__proto__: harmless',
        ].join('\n'),
      ),
    ).toEqual({
      date: '2026-01-31',
      yes: 'yes',
      octal: 7,
      hex: 31,
      exponent: 1000,
      null: null,
      flag: true,
      version: 1.1,
      list: [1, '1', 'a b'],
      block: 'one\ntwo\n',
      '1': 'one',
      ['__proto__']: 'harmless',
    });
  });

  test('that were rendered are read back as they were', async () => {
    // JSON carries no lone surrogates, no -0 and no number beyond a double.
    const json = fc.dictionary(
      fc.string({ unit: 'binary', minLength: 1 }),
      fc.jsonValue({ stringUnit: 'binary' }).map((value) => JSON.parse(JSON.stringify(value))),
      { noNullPrototype: true },
    );
    await fc.assert(
      fc.asyncProperty(json, async (fields: JsonObject) => {
        expect(await metaOf(renderFields(fields))).toEqual(fields);
      }),
    );
  });

  test.each([
    ['a key that comes twice', 'a: 1\na: 2', /line 3: Map keys must be unique/u],
    ['an alias', 'a: &x 1\nb: *x', /line 3: '\*x' would be a YAML alias/u],
    ['emphasis in Markdown', 'title: *important*', /YAML alias; put the value in double quotes/u],
    ['an anchor', 'a: &x 1', /YAML anchor/u],
    ['a tag', 'a: !important x', /line 2: Unresolved tag: !important; put the value in double quotes/u],
    ['binary data', 'a: !!binary aGk=', /tag/u],
    ['a set', 'a: !!set {x, y}', /tag/u],
    ['a colon in a value', 'reason: one: two', /line 2: .*put the value in double quotes/u],
    ['a value that begins like nothing in YAML', 'user: @name', /put the value in double quotes/u],
    ['an integer that no double holds', 'id: 12345678901234567890', /12345678901234567890 is too large/u],
    ['an integer beyond all doubles', `id: 1${'0'.repeat(400)}`, /too large for a number/u],
    ['an infinite number', 'hash: 1e999', /1e999 is not a number that JSON can carry/u],
    ['half a surrogate pair', 'a: "\\ud800"', /surrogate/u],
    ['a key that is a list', '[a]: b', /keys must be strings/u],
    ['a list at the top', '- a', /has to be fields/u],
    ['a text at the top', 'just text', /has to be fields/u],
    ['several documents', 'a: 1\n...\nb: 2', /several YAML documents|line 3/u],
  ])('refused, never guessed at: %s', async (_, yaml, message) => {
    expect(await errorsOf(yaml)).toMatch(message);
  });

  test.each([
    ['lists', `a: ${'['.repeat(20_000)}`],
    ['closed lists', `a: ${'['.repeat(20_000)}${']'.repeat(20_000)}`],
    ['dashes', `a:\n ${'- '.repeat(20_000)}x`],
    ['maps', Array.from({ length: 500 }, (__, depth) => `${' '.repeat(depth)}a:`).join('\n')],
  ])('nested without end do not exhaust the stack: %s', async (_, yaml) => {
    expect(await errorsOf(yaml)).toMatch(/nested more than/u);
  });

  test('of an alias bomb are refused before it goes off', async () => {
    const bomb = [
      'a: &a [x, x]',
      ...'bcdefghij'.split('').map((name, at) => `${name}: &${name} [${`*${'abcdefghij'[at]},`.repeat(9)}]`),
    ];
    expect(await errorsOf(bomb.join('\n'))).toMatch(/alias/u);
  });

  test('longer than any result are refused', async () => {
    expect(await errorsOf(`a: ${'x'.repeat(300_000)}`)).toMatch(/longer than 262144 characters/u);
  });
});

describe('the schema', () => {
  const schema = {
    type: 'object',
    properties: { $status: { const: 'written' }, words: { type: 'integer' } },
    required: ['$status', 'words'],
    additionalProperties: false,
  };

  test('accepts what it says', async () => {
    expect(await extractReply('---\n$status: written\nwords: 3\n---\nThe text.\n', schema)).toEqual({
      kind: 'ok',
      meta: { $status: 'written', words: 3 },
      body: 'The text.\n',
    });
  });

  test.each([
    ['$status: written\nwords: many', /^meta\.words must be an integer$/u],
    ['$status: written', /^meta lacks the property 'words'$/u],
    ['$status: rejected\nwords: 1', /^meta\.\$status must be "written"$/u],
    ['$status: written\nwords: 1\nmore: 2', /^meta must not have the property 'more'$/u],
    ['', /'\$status'[^]*'words'/u],
  ])('refuses %j in words for the agent', async (yaml, message) => {
    expect(await errorsOf(yaml, schema)).toMatch(message);
  });

  test('of several shapes is worded by the one that the status chose', async () => {
    const review = {
      oneOf: [
        { properties: { $status: { const: 'approved' } }, required: ['$status'] },
        { properties: { $status: { const: 'rejected' }, reason: { type: 'string' } }, required: ['$status', 'reason'] },
      ],
    };
    expect(await errorsOf('$status: rejected', review)).toBe("meta lacks the property 'reason'");
    expect(await errorsOf('$status: maybe', review)).toBe('meta.$status must be one of "approved", "rejected"');
  });

  test('never fills in a default', async () => {
    const lenient = { type: 'object', properties: { words: { type: 'integer', default: 7 } } };
    expect(await extractReply('---\n---\nText.\n', lenient)).toEqual({ kind: 'ok', meta: {}, body: 'Text.\n' });
  });

  test('is asked about meta that came apart from the text, whose front matter is then text', async () => {
    const text = '---\nnot: looked at\n---\n';
    expect(await extractReply(text, schema, { $status: 'written', words: 3 })).toEqual({
      kind: 'ok',
      meta: { $status: 'written', words: 3 },
      body: text,
    });
    expect(await extractReply(text, schema, { $status: 'written' })).toHaveProperty('kind', 'invalid');
  });
});

describe('$SUSPEND', () => {
  const schema = { properties: { $status: { const: 'done' } }, required: ['$status'] };

  test('suspends with its reason, whatever the schema says', async () => {
    expect(await extractReply('---\n$status: $SUSPEND\nreason: Which branch?\n---\n', schema)).toEqual({
      kind: 'suspend',
      reason: 'Which branch?',
    });
    expect(await extractReply('', schema, { $status: '$SUSPEND', reason: 'Which?' })).toHaveProperty('kind', 'suspend');
  });

  test.each(['$status: $SUSPEND', '$status: $SUSPEND\nreason: " "', '$status: $SUSPEND\nreason: 3'])(
    'has to say why: %j',
    async (yaml) => {
      expect(await errorsOf(yaml, schema)).toMatch(/meta\.reason must say what you need/u);
    },
  );
});

test('a reply without front matter is told how to begin', async () => {
  expect(await extractReply('Done!\n', anything)).toEqual({
    kind: 'invalid',
    errors: [expect.stringContaining('begin your reply with a line ---')],
  });
});
