import { describe, expect, test } from 'vitest';
import { ARTIFACT_TYPE, CONTENT_TYPE } from '../../src/cas/node-hash.ts';
import { keepersOf, PINNED_FOLDER, pinOf } from '../../src/cas/node-tree.ts';
import type { JsonValue } from '../../src/json.ts';

const [a, b, c] = ['a', 'b', 'c'].map((digit) => digit.repeat(40));
const artifact = (kind: string, oid: JsonValue = a!): { type: typeof ARTIFACT_TYPE; payload: JsonValue } => ({
  type: ARTIFACT_TYPE,
  payload: { kind, oid, title: 'x' },
});

describe('an artifact pins', () => {
  test.each(['commit', 'tree', 'blob'])('a %s', (kind) => {
    expect(pinOf(artifact(kind))).toEqual({ kind, oid: a });
  });

  test.each<[string, Parameters<typeof pinOf>[0]]>([
    ['of another type', { type: CONTENT_TYPE, payload: { kind: 'blob', oid: a! } }],
    ['that is a list', { type: ARTIFACT_TYPE, payload: [] }],
    ['of another kind', artifact('tag')],
    ['whose id is a number', artifact('blob', 1)],
    ['whose id is none', artifact('blob', 'xyz')],
    ['without an id', { type: ARTIFACT_TYPE, payload: { kind: 'blob' } }],
  ])('nothing: a node %s', (_, node) => {
    expect(pinOf(node)).toBeUndefined();
  });
});

test('commits are kept as parents, trees and blobs in a folder, each once', () => {
  const nodes = [
    artifact('commit'),
    artifact('tree', b),
    artifact('blob', c),
    artifact('commit'),
    artifact('blob', c),
    { type: CONTENT_TYPE, payload: { text: 'x' } },
  ];
  expect(PINNED_FOLDER).toBe('pinned');
  expect(keepersOf(nodes)).toEqual({
    parents: [a],
    entries: [
      { path: `pinned/${b}`, mode: '040000', id: b },
      { path: `pinned/${c}`, mode: '100644', id: c },
    ],
  });
  expect(keepersOf([])).toEqual({ parents: [], entries: [] });
});
