import { expect, test } from 'vitest';
import { parseNodeHash } from '../../src/cas/hash.ts';
import type { UwfError } from '../../src/errors.ts';
import { parseObjectId } from '../../src/git/format/object-id.ts';
import { builtIn } from '../../src/schema/built-in.ts';
import { ValidationTimeout } from '../../src/schema/json-schema/time-box.ts';
import { InvalidSchema, SchemaViolation } from '../../src/schema/json-schema/validator.ts';
import { DanglingLink, WrongLinkType } from '../../src/schema/links/check-links.ts';
import { UnexpectedNode } from '../../src/schema/payload-of.ts';
import { WrongPin } from '../../src/schema/put/check-pin.ts';

const hash = parseNodeHash('EYHPV6X8XHTCS');
const oid = parseObjectId('1'.repeat(40));
const link = { hash, path: '/a', types: ['content'] };
const errors = ['/a', '', '/c', '/d', '/e', '/f', '/g'].map((path) => ({ path, message: 'must be x' }));
const cause = new Error('cause');

test.each<[UwfError, object]>([
  [
    new DanglingLink(hash, '/a'),
    {
      code: 'dangling-link',
      kind: 'data',
      message: `the link at /a leads nowhere: there is no node ${hash}`,
      hint: "put the node first ('uwf cas put'), or check the hash",
      hash,
      path: '/a',
    },
  ],
  [new DanglingLink(hash, ''), { message: `the link at the top leads nowhere: there is no node ${hash}` }],
  [
    new WrongLinkType(link, builtIn.agent, ['content', 'thread-step']),
    {
      code: 'wrong-link-type',
      kind: 'data',
      message: `the link at /a has to lead to content or thread-step, but ${hash} is agent`,
      hash,
      path: '/a',
      actual: builtIn.agent,
      expected: ['content', 'thread-step'],
    },
  ],
  [
    new WrongLinkType({ ...link, path: '' }, hash, ['content']),
    { message: `the link at the top has to lead to content, but ${hash} is a node of type ${hash}` },
  ],
  [
    new WrongPin(oid, 'tree', 'blob'),
    { code: 'wrong-pin', kind: 'data', message: `${oid} is a blob, not a tree`, oid },
  ],
  [
    new InvalidSchema(errors.slice(0, 2), cause),
    {
      code: 'invalid-schema',
      kind: 'data',
      message: 'this is not a schema: /a must be x; must be x',
      hint: 'schemas are JSON Schema draft 2020-12, complete in themselves',
      errors: errors.slice(0, 2),
      cause,
    },
  ],
  [
    new SchemaViolation('meta', errors.slice(0, 5)),
    {
      code: 'schema-violation',
      kind: 'data',
      message: 'meta does not match its schema: /a must be x; must be x; /c must be x; /d must be x; /e must be x',
      subject: 'meta',
      errors: errors.slice(0, 5),
    },
  ],
  [
    new SchemaViolation('meta', errors),
    {
      message:
        'meta does not match its schema: /a must be x; must be x; /c must be x; /d must be x; /e must be x; and 2 more',
    },
  ],
  [
    new ValidationTimeout(2000, cause),
    {
      code: 'validation-timeout',
      kind: 'timeout',
      message: 'checking a value against its schema took longer than 2000 ms and was stopped',
      hint: "look for a 'pattern' in the schema that repeats a repetition, such as (a+)+",
      timeoutMs: 2000,
      cause,
    },
  ],
  [
    new UnexpectedNode('content', { type: builtIn.agent, payload: {}, hash }),
    {
      code: 'unexpected-node',
      kind: 'data',
      message: `the node ${hash} is agent, not content`,
      hint: "it was not written by uwf; run 'uwf thread verify <thread>' on its thread",
      wanted: 'content',
    },
  ],
  [
    new UnexpectedNode('content', { type: hash, payload: {} }),
    { message: `the node is a node of type ${hash}, not content` },
  ],
  [
    new UnexpectedNode('content', { type: builtIn.content, payload: {} }),
    { message: 'the node does not have the form of a content node' },
  ],
])('%s', (error, properties) => {
  expect(error).toMatchObject(properties);
});
