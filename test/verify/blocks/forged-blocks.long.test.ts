import { beforeAll, expect, test } from 'vitest';
import { isJsonObject, type JsonObject } from '../../../src/json.ts';
import type { ForgedLine } from '../forge.ts';
import { createBlockFixture, runTeam } from './block-fixture.ts';
import { findingsOf, Forgery, takeThread } from './branch-campaign.ts';

let lines: ForgedLine[];

beforeAll(async () => {
  const fixture = await createBlockFixture();
  lines = await takeThread(fixture, await runTeam(fixture));
}, 120_000);

const inside = (value: JsonObject, ...path: string[]): JsonObject => {
  let at: unknown = value;
  for (const key of path) at = isJsonObject(at) ? at[key] : undefined;
  if (!isJsonObject(at)) throw new Error(`there is no ${path.join('.')}`);
  return at;
};
const meta = (forgery: Forgery, block: string): JsonObject => inside(forgery.step(block), 'meta');
const branch = (forgery: Forgery, block: string, key: string): JsonObject =>
  inside(forgery.step(block), 'meta', 'branches', key);
const block = (forgery: Forgery, name: string): JsonObject => inside(forgery.workflow('team'), 'blocks', name);
const order = (forgery: Forgery, name: string): string[] => meta(forgery, name)['order'] as string[];
/** The branch that was the first to end: which that is, is not certain. */
const first = (forgery: Forgery, name: string): string => order(forgery, name)[0] ?? '';
const ends = (forgery: Forgery, name: string): string[] => forgery.step(name)['childThreads'] as string[];

/** Takes a branch out of a step, with all that names it. */
function drop(forgery: Forgery, name: string, at: number): void {
  const commit = forgery.commit(forgery.step(name));
  const [key = ''] = order(forgery, name).splice(at, 1);
  ends(forgery, name).splice(at, 1);
  delete inside(forgery.step(name), 'meta', 'branches')[key];
  commit.parents.splice(at + 1, 1);
}

/** Changes the places of two ends, with all that names them. */
function swap(forgery: Forgery, name: string, what: ('order' | 'ends' | 'parents')[]): void {
  const commit = forgery.commit(forgery.step(name));
  if (what.includes('order')) order(forgery, name).reverse();
  if (what.includes('ends')) ends(forgery, name).reverse();
  if (what.includes('parents'))
    commit.parents.splice(
      1,
      order(forgery, name).length,
      ...commit.parents.slice(1, 1 + order(forgery, name).length).toReversed(),
    );
}

const forgeries: Record<string, [forge: (forgery: Forgery) => void, found: RegExp]> = {
  'the order of the keys': [(forgery) => swap(forgery, 'reviews', ['order']), /is the branch|is not how that ended/],
  'the order of the ends': [(forgery) => swap(forgery, 'reviews', ['ends']), /is not its parent/],
  'the order of the parents': [(forgery) => swap(forgery, 'reviews', ['parents']), /is not its parent/],
  'the order of keys and ends': [(forgery) => swap(forgery, 'reviews', ['order', 'ends']), /is not its parent/],
  'the order of ends and parents': [(forgery) => swap(forgery, 'reviews', ['ends', 'parents']), /is the branch/],
  'a key that comes twice': [(forgery) => void order(forgery, 'vote').fill('a'), /twice|unique/],
  'a key too many': [
    (forgery) => void order(forgery, 'vote').push('d'),
    /has \d keys|in one of 'order' and 'branches' only/,
  ],
  'a dropped branch': [(forgery) => drop(forgery, 'reviews', 1), /is not decided by the 2 of 3/],
  'all branches dropped': [
    (forgery) => [0, 0, 0].forEach((at) => drop(forgery, 'build', at)),
    /is not decided by the 0 of 3/,
  ],
  'another status': [(forgery) => void (meta(forgery, 'reviews')['$status'] = 'failed'), /by its join it is 'joined'/],
  'another status of an expression': [
    (forgery) => void (meta(forgery, 'vote')['$status'] = 'joined'),
    /by its join it is 'agreed'/,
  ],
  'a conflict without a merge': [
    (forgery) => void (meta(forgery, 'vote')['$status'] = 'conflict'),
    /by its join it is 'agreed'/,
  ],
  'another meta of a branch': [
    (forgery) => void (branch(forgery, 'reviews', 'style')['meta'] = { $status: 'bad' }),
    /'style' is not how/,
  ],
  'another status of a branch': [
    (forgery) => void (branch(forgery, 'reviews', 'style')['status'] = 'bad'),
    /'style' is not how/,
  ],
  'another summary of a branch': [
    (forgery) => void (inside(branch(forgery, 'reviews', 'style'), 'end')['summary'] = 'Bad.'),
    /'style' is not how/,
  ],
  'another outcome of a branch': [
    (forgery) =>
      Object.assign(inside(branch(forgery, 'reviews', 'style'), 'end'), { outcome: 'failed', returnCode: 1 }),
    /'style' is not how/,
  ],
  'the meta of a branch that says nothing': [
    (forgery) => void (branch(forgery, 'build', 'two')['meta'] = null),
    /'two' is not how/,
  ],
  'a branch under another key': [
    (forgery) => {
      const { branches } = meta(forgery, 'build') as { branches: JsonObject };
      branches['four'] = branches['two']!;
      delete branches['two'];
      order(forgery, 'build')[order(forgery, 'build').indexOf('two')] = 'four';
    },
    /'four', which is no branch/,
  ],
  "the ends of two branches under each other's key": [
    (forgery) => {
      const { branches } = meta(forgery, 'build') as { branches: JsonObject };
      [branches['one'], branches['two']] = [branches['two']!, branches['one']!];
      const keys = order(forgery, 'build');
      const [one, two] = [keys.indexOf('one'), keys.indexOf('two')];
      [keys[one], keys[two]] = ['two', 'one'];
    },
    /'two' is the branch 'one'/,
  ],
  'the end of a branch of another block': [
    (forgery) => {
      ends(forgery, 'vote')[0] = forgery.hashOf(forgery.end('reviews', 'style'));
      forgery.commit(forgery.step('vote')).parents[1] = forgery.commit(forgery.end('reviews', 'style')).commit;
    },
    /was not called by vote from the state before it/,
  ],
  'another prompt of a branch': [
    (forgery) => void (forgery.payload(({ text }) => text === 'Phase two after 5 steps')['text'] = 'Phase 2'),
    /'two' was told something else/,
  ],
  'a prompt that the block says': [
    (forgery) => void (inside(block(forgery, 'reviews'), 'branches', 'security')['prompt'] = 'Look.'),
    /'security' was told something else/,
  ],
  'a prompt of a branch without one': [
    (forgery) => void (inside(block(forgery, 'reviews'), 'branches', 'style')['prompt'] = 'Look.'),
    /'style' was told something else/,
  ],
  'what a block lists': [
    (forgery) => void (inside(block(forgery, 'build'), 'each')['over'] = '[{"id":"one"},{"id":"two"}]'),
    /'three', which is no branch/,
  ],
  'what a block lists, and cannot': [
    (forgery) => void (inside(block(forgery, 'build'), 'each')['over'] = '7'),
    /its value is no list/,
  ],
  'how a block names its branches': [
    (forgery) => void (inside(block(forgery, 'build'), 'each')['key'] = 'phase.title'),
    /which is no branch/,
  ],
  'a join for any': [(forgery) => void (block(forgery, 'reviews')['join'] = 'any'), /was decided by the first 1 of 3/],
  'a join for all': [(forgery) => void (block(forgery, 'race')['join'] = 'all'), /is not decided by/],
  'a join for a lesser number': [
    (forgery) => void (block(forgery, 'reviews')['join'] = { atLeast: 2 }),
    /was decided by the first 2 of 3/,
  ],
  'a join by an expression': [
    (forgery) => void (block(forgery, 'reviews')['join'] = '$count($branches) = 2'),
    /was decided by the first 2 of 3/,
  ],
  'an expression of a join': [
    (forgery) => void (block(forgery, 'vote')['join'] = "$count($branches) >= 1 ? 'agreed'"),
    /was decided by the first 1 of/,
  ],
  'an expression of a join that fails': [
    (forgery) => void (block(forgery, 'vote')['join'] = '7'),
    /neither true or false/,
  ],
  'a block that the workflow does not have': [
    (forgery) => {
      const { blocks } = forgery.workflow('team') as { blocks: JsonObject };
      delete blocks['vote'];
    },
    /has no such block|no role 'vote'/,
  ],
  'a branch that the block does not have': [
    (forgery) => void delete inside(block(forgery, 'vote'), 'branches')[first(forgery, 'vote')],
    /has no branch '[abcd]'|no branch of its block/,
  ],
  'the block of a branch': [
    (forgery) => void (inside(forgery.start('vote', first(forgery, 'vote')), 'call')['block'] = 'reviews'),
    /parentRole is 'vote'|has no branch '[abcd]'/,
  ],
  'the block of a branch, which there is not': [
    (forgery) => void (inside(forgery.start('vote', first(forgery, 'vote')), 'call')['block'] = 'x'),
    /has no such block/,
  ],
  'a child that is no branch': [
    (forgery) => void delete inside(forgery.start('vote', first(forgery, 'vote')), 'call')['block'],
    /is no branch/,
  ],
  'the key of a branch': [
    (forgery) => void (inside(forgery.start('build', 'two'), 'call')['key'] = 'four'),
    /is the branch 'four'/,
  ],
  'the ordinal of a branch': [
    (forgery) => void (inside(forgery.start('build', 'two'), 'call')['ordinal'] = 0),
    /no ordinal/,
  ],
  'the thread that called a branch': [
    (forgery) => void (inside(forgery.start('build', 'two'), 'call')['thread'] = '01KAJK8400ZZZZZZZZZZZZZZZY'),
    /others under/,
  ],
  'the workflow of a branch': [
    (forgery) => {
      const start = forgery.start('build', 'two');
      const twin = forgery.hashOf(forgery.workflow('twin'));
      forgery.commit(start).files['workflow/workflow.json'] = twin as never;
      start['workflow'] = twin;
    },
    /the start of its caller pins/,
  ],
  'what a start pins for a branch': [
    (forgery) => {
      const record = forgery.payload(
        ({ name, config }) => name === 'block' && isJsonObject(config) && config['workflow'] === 'small',
      );
      const commit = forgery.commit(forgery.payload((payload) => 'agents' in payload && payload['depth'] === 0));
      inside(record, 'config', 'definition')['$cas'] = forgery.hashOf(forgery.workflow('twin'));
      commit.files['children/build/workflow.json'] = forgery.hashOf(forgery.workflow('twin')) as never;
    },
    /is not what the branches of block 'build'/,
  ],
  'the role of a branch': [
    (forgery) => void (inside(block(forgery, 'vote'), 'branches', 'a')['role'] = 'closer'),
    /is not what branch 'a' of block 'vote'/,
  ],
  'the agent of a step': [
    (forgery) =>
      void (forgery.payload(
        (payload) => payload['package'] === 'builtin:block' && !('workflow' in inside(payload, 'config')),
      )['package'] = 'x'),
    /which builtin:block runs/,
  ],
  'usage of a step': [
    (forgery) => void (forgery.step('vote')['usage'] = { inputTokens: 1, outputTokens: 0, turns: 1, costUsd: 0.25 }),
    /usage, attempts or a trace/,
  ],
  'the schema of a block': [
    (forgery) => void (block(forgery, 'vote')['schema'] = { $cas: forgery.hashOf(forgery.workflow('small')) }),
    /schema of block 'vote'|role-schema/,
  ],
  'no schema of a block': [(forgery) => void (block(forgery, 'vote')['schema'] = {}), /has no schema/],
};

test('what was not changed is sound', async () => {
  expect(await findingsOf(new Forgery(lines).lines)).toEqual({ found: [], refused: '' });
});

test.each(Object.entries(forgeries))('%s is found', async (_, [forge, wanted]) => {
  const forgery = new Forgery(lines);
  forge(forgery);
  const { found, refused } = await findingsOf(forgery.lines);
  expect(
    found.filter((what) => wanted.test(what)),
    found.join('\n'),
  ).not.toEqual([]);
  expect(refused).not.toBe('');
});
