import { beforeAll, describe, expect, test } from 'vitest';
import { parseNodeHash, prepareHashing } from '../../src/cas/hash.ts';
import { encodeNode, MemorySource } from '../../src/cas/node.ts';
import type { UwfError } from '../../src/errors.ts';
import type { JsonValue } from '../../src/json.ts';
import { builtIn, encodeBuiltIn } from '../../src/schema/built-in.ts';
import { assertLinks, checkLinks, DanglingLink, linksOf, WrongLinkType } from '../../src/schema/links.ts';

beforeAll(prepareHashing);

const absent = parseNodeHash('EYHPV6X8XHTCS');

/** Checks the links of a value of a type, which may lead to a text, an attempt, and the value's type. */
function check(makeSchema: (type: string) => JsonValue, makeValue: (targets: Record<string, string>) => JsonValue) {
  const text = encodeNode(builtIn.content, { text: 'x' });
  const own = encodeNode(builtIn['meta-schema'], { type: 'string' });
  const ofOwn = encodeNode(own.hash, 'value');
  const attempt = encodeNode(builtIn.attempt, { content: text.hash });
  const schema = encodeNode(builtIn['meta-schema'], makeSchema(own.hash));
  const source = new MemorySource([text, own, ofOwn, attempt, schema, encodeBuiltIn('meta-schema')]);
  const targets = { text: text.hash, own: own.hash, ofOwn: ofOwn.hash, attempt: attempt.hash };
  const node = { type: schema.hash, payload: makeValue(targets) };
  const links = linksOf(source, node);
  const problems = links.then((found) => checkLinks(source, found));
  return { problems, asserted: async () => assertLinks(source, await links), targets };
}

const ref = (...types: string[]): JsonValue => ({ format: 'cas_ref', cas_type: types });

describe('a link', () => {
  test.each<[string, (own: string) => JsonValue, string]>([
    ['of any type', () => ({ format: 'cas_ref' }), 'ofOwn'],
    ['of a built-in type, by its name', () => ref('agent', 'content'), 'text'],
    ['of a built-in type, by its hash', () => ref(builtIn.content), 'text'],
    ['of another built-in type, by its name', () => ref('attempt'), 'attempt'],
    ['of a registered type, by its hash', (own) => ref('content', own), 'ofOwn'],
  ])('may lead to a node %s', async (_, makeSchema, target) => {
    const { problems, asserted } = check(makeSchema, (targets) => targets[target]!);
    expect(await problems).toEqual([]);
    await expect(asserted()).resolves.toBeUndefined();
  });

  test.each<[string, (own: string) => JsonValue, string]>([
    ['of another built-in type', () => ref('agent', 'content'), 'own'],
    ['of a registered type where a built-in one is wanted', () => ref('content'), 'ofOwn'],
    ['where no type is named', () => ref(), 'text'],
    ['by a name that every object inherits', () => ref('constructor'), 'ofOwn'],
    ['by the name of no type', () => ref('undefined'), 'ofOwn'],
  ])('may not lead to a node %s', async (_, makeSchema, target) => {
    const { problems, asserted } = check(makeSchema, (targets) => targets[target]!);
    expect(await problems).toEqual([expect.any(WrongLinkType)]);
    await expect(asserted()).rejects.toThrow(WrongLinkType);
  });
});

test('all that is wrong is listed in the order of the links, and the first of it thrown', async () => {
  const { problems, asserted, targets } = check(
    () => ({ items: ref('content') }),
    ({ own, text }) => [own!, text!, absent, { $cas: absent }],
  );
  const found = await problems;
  expect(found).toEqual([expect.any(WrongLinkType), expect.any(DanglingLink), expect.any(DanglingLink)]);
  expect(found).toMatchObject([
    { hash: targets['own'], path: '/0' },
    { hash: absent, path: '/2' },
    { hash: absent, path: '/3' },
  ]);
  expect(found[0]).toMatchObject({ actual: builtIn['meta-schema'], expected: ['content'] });
  await expect(asserted()).rejects.toThrow(found[0]!);
});

const link = { hash: absent, path: '/a', types: ['content'] };

test.each<[UwfError, object]>([
  [
    new DanglingLink(absent, '/a'),
    {
      code: 'dangling-link',
      kind: 'data',
      message: `the link at /a leads nowhere: there is no node ${absent}`,
      hint: "put the node first ('uwf cas put'), or check the hash",
      hash: absent,
      path: '/a',
    },
  ],
  [new DanglingLink(absent, ''), { message: `the link at the top leads nowhere: there is no node ${absent}` }],
  [
    new WrongLinkType(link, builtIn.agent, ['content', 'thread-step']),
    {
      code: 'wrong-link-type',
      kind: 'data',
      message: `the link at /a has to lead to content or thread-step, but ${absent} is agent`,
      hash: absent,
      path: '/a',
      actual: builtIn.agent,
      expected: ['content', 'thread-step'],
    },
  ],
  [
    new WrongLinkType({ ...link, path: '' }, absent, ['content']),
    { message: `the link at the top has to lead to content, but ${absent} is a node of type ${absent}` },
  ],
])('%s', (error, properties) => {
  expect(error).toMatchObject(properties);
});
