import { writeFileSync } from 'node:fs';
import { beforeEach, describe, expect, test } from 'vitest';
import { parseNodeHash } from '../../../src/cas/hash.ts';
import { parseObjectId } from '../../../src/git/format/object-id.ts';
import type { Repository } from '../../../src/git/repository.ts';
import { derivedContent, readDerivedFile } from '../../../src/git/system/derived-file.ts';
import type { JsonObject } from '../../../src/json.ts';
import { derivedPath } from '../../../src/thread/read/derived-path.ts';
import {
  findKeptTallies,
  isKept,
  keepTallies,
  shareTallies,
  type KeptTally,
} from '../../../src/thread/read/kept-tallies.ts';
import { NO_TURN, tallyOfStart } from '../../../src/thread/read/tally.ts';
import { parseThreadId } from '../../../src/thread/thread-id.ts';
import { createMapRepository } from '../../helpers/map-repository.ts';
import { createRepositoryWithState } from '../../helpers/memory-repository.ts';

const id = parseThreadId('01KTWEWZ76000000000000000A');
const other = parseThreadId('01KTWEWZ76000000000000000B');
const [one, two, three] = ['1', '2', '3'].map((digit) => parseObjectId(digit.repeat(40)));
const type = parseNodeHash('0123456789ABC');
const usage = { inputTokens: 1, outputTokens: 2, turns: 1, costUsd: 0.5, cacheReadTokens: 3, cacheWriteTokens: 4 };
const place = { commit: one!, number: 1 };

const full: KeptTally = {
  commit: two!,
  tally: {
    start: one!,
    steps: 64,
    types: new Set([type]),
    roles: new Map([
      [
        'writer',
        { visits: 2, first: place, last: place, usage: { ...usage, isAtLeast: true }, replaced: usage, waits: 1 },
      ],
      ['checker', NO_TURN],
    ]),
    usage: { ...usage, isAtLeast: true },
    replaced: usage,
    more: { maxSteps: 1, maxVisits: 2, maxTurns: 3, maxTokens: 4, maxCostUsd: 5 },
    files: three!,
    compacted: place,
    calling: [one!, two!],
    reopenings: [place],
  },
};
const bare: KeptTally = {
  commit: three!,
  tally: { ...tallyOfStart({ id: one!, types: [], kind: 'start' }), steps: 128 },
};

let repository: Repository;

beforeEach(async () => {
  repository = await createRepositoryWithState();
});

test.each([
  [0, false],
  [1, false],
  [63, false],
  [64, true],
  [65, false],
  [128, true],
])('the tally of step %d is kept: %j', (steps, expected) => {
  expect(isKept({ steps })).toBe(expected);
});

describe('the tallies of a thread', () => {
  test('are kept as they are, the newest two of them', () => {
    keepTallies(repository, id, [full, bare]);
    expect(findKeptTallies(repository, id)).toStrictEqual([full, bare]);
    keepTallies(repository, id, [bare, full, full]);
    expect(findKeptTallies(repository, id)).toStrictEqual([bare, full]);
    expect(findKeptTallies(repository, other)).toEqual([]);
  });

  test('are not kept where there is no disk', () => {
    const inMemory = createMapRepository();
    keepTallies(inMemory, id, [full]);
    expect(findKeptTallies(inMemory, id)).toEqual([]);
  });

  test('are shared with another thread, if there are any', () => {
    keepTallies(repository, other, [bare]);
    shareTallies(repository, id, other);
    expect(findKeptTallies(repository, other)).toEqual([bare]);
    keepTallies(repository, id, [full]);
    shareTallies(repository, id, other);
    expect(findKeptTallies(repository, other)).toEqual([full]);
  });
});

describe('a kept file', () => {
  const rewrite = (form: string, change: (stored: JsonObject) => void): void => {
    keepTallies(repository, id, [full]);
    const path = derivedPath(repository, id, 'tally')!;
    const list = JSON.parse(readDerivedFile(path, 'tally 1')!) as JsonObject[];
    for (const stored of list) change(stored);
    writeFileSync(path, derivedContent(path, form, `${JSON.stringify(list)}\n`));
  };

  test('is believed in the form of now alone', () => {
    rewrite('tally 1', () => {});
    expect(findKeptTallies(repository, id)).toEqual([full]);
    rewrite('tally 0', () => {});
    expect(findKeptTallies(repository, id)).toEqual([]);
  });

  const role = { ...NO_TURN };
  test.each<[string, JsonObject]>([
    ['a commit that is none', { commit: 'x' }],
    ['a start that is none', { start: 'x' }],
    ['no number of steps', { steps: '64' }],
    ['a type that is none', { types: ['x'] }],
    ['roles without names', { roles: [[role]] }],
    ['roles with more than a name', { roles: [['writer', role, 1]] }],
    ['a role that is no list', { roles: [role] }],
    ['a role that is an object with a length', { roles: [{ 0: 'writer', 1: role, length: 2 }] }],
    ['a role whose name is a number', { roles: [[1, role]] }],
    ['a role whose visits are no number', { roles: [['writer', { ...role, visits: null }]] }],
    ['a role with a place that is none', { roles: [['writer', { ...role, first: { commit: 'x', number: 1 } }]] }],
    ['a role that is empty', { roles: [['writer', {}]] }],
    ['a usage without turns', { usage: { inputTokens: 1, outputTokens: 2 } }],
    ['a usage that is a text', { usage: 'much' }],
    ['a usage with a cost that is a text', { usage: { ...usage, costUsd: '1' } }],
    ['a usage with cached tokens that are a text', { usage: { ...usage, cacheReadTokens: '1' } }],
    ['a usage with written tokens that are a text', { usage: { ...usage, cacheWriteTokens: '1' } }],
    ['a usage that is at least false', { usage: { ...usage, isAtLeast: false } }],
    ['a limit that is a text', { more: { maxSteps: '5' } }],
    ['files that are none', { files: 'x' }],
    ['a summary at no place', { compacted: { commit: one!, number: '1' } }],
    ['a calling step that is none', { calling: ['x'] }],
    ['a reopening at no place', { reopenings: [{}] }],
  ])('is not believed with %s', (_, wrong) => {
    rewrite('tally 1', (stored) => Object.assign(stored, wrong));
    expect(findKeptTallies(repository, id)).toEqual([]);
  });
});
