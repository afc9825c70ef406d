import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { parseObjectId } from '../../../../src/git/format/object-id.ts';
import type { ObjectId } from '../../../../src/git/format/object-id.ts';
import { parseRefName } from '../../../../src/git/format/ref-name.ts';
import { LockRecords } from '../../../../src/git/stores/disk/lock-records.ts';
import { RefReader } from '../../../../src/git/stores/disk/ref-reader.ts';
import { RefTransaction } from '../../../../src/git/stores/disk/ref-transaction.ts';
import {
  createTemporaryFolder,
  createTemporaryRepository,
  makeFolder,
  runGit,
} from '../../../helpers/temporary-repository.ts';

type Value = 'one' | 'two' | null;
/** A name, the value that is expected, and the new one. */
type Edit = [name: string, expected: Value, value: Value];

let scene: { dir: string; one: ObjectId; two: ObjectId } | undefined;

/** A bare repository with refs of every kind, made by git once for this process; tests take copies of it. */
function sceneByGit(): NonNullable<typeof scene> {
  if (scene !== undefined) return scene;
  const { git, dir: from } = createTemporaryRepository({ bare: true });
  const tree = git('mktree');
  const [one, two] = ['one', 'two'].map((message) => parseObjectId(git('commit-tree', '-m', message, tree)));
  if (one === undefined || two === undefined) throw new Error('git made no commits');
  git('tag', '-a', '-m', 'annotated', 'v1', one);
  for (const name of ['packed', 'both', 'dir/inner', 'z']) git('update-ref', `refs/threads/${name}`, one);
  git('pack-refs', '--all', '--prune');
  git('update-ref', 'refs/threads/both', two);
  for (const name of ['loose', 'deep/er/loose']) git('update-ref', `refs/threads/${name}`, one);
  git('symbolic-ref', 'refs/aliases/loose', 'refs/threads/loose');
  const files = {
    'refs/threads/upper': `${one.toUpperCase()}\n`,
    'logs/refs/threads/both': 'a log\n',
    'logs/refs/threads/deep': 'a log of an old ref\n',
    'logs/refs/threads/packed/below': 'a log of another ref\n',
  };
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(from, path)), { recursive: true });
    writeFileSync(join(from, path), content);
  }
  const dir = makeFolder();
  cpSync(from, dir, { recursive: true });
  scene = { dir, one, two };
  return scene;
}

const idOf = (value: Value): ObjectId | null => (value === null ? null : sceneByGit()[value]);
const absent = '0'.repeat(40);

/** An edit as `git update-ref --stdin` reads it. */
function lineOf([name, expected, value]: Edit): string {
  if (expected === value) return `verify ${name} ${idOf(expected) ?? absent}`;
  if (value === null) return `delete ${name} ${idOf(expected)}`;
  return `update ${name} ${idOf(value)} ${idOf(expected) ?? absent}`;
}

async function byGit(dir: string, edits: readonly Edit[]): Promise<void> {
  runGit(dir, ['update-ref', '--stdin'], `${edits.map(lineOf).join('\n')}\n`);
}

async function byUwf(dir: string, edits: readonly Edit[]): Promise<void> {
  const location = { gitDir: dir, commonDir: dir, workTree: undefined };
  const reader = new RefReader(location);
  const context = { location, reader, records: new LockRecords(dir), lockTimeoutMs: 0 };
  const changes = edits.map(([name, expected, value]) => ({
    name: parseRefName(name),
    expected: idOf(expected),
    value: idOf(value),
  }));
  try {
    expect(await new RefTransaction(changes, context).run()).toBe(true);
  } finally {
    reader.packed.close();
  }
}

/** Every file that is about refs, with its content; locks and what uwf keeps would be among them. */
function filesIn(dir: string): Record<string, string> {
  const entries = readdirSync(dir, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const found = paths.map((path) => [path.slice(dir.length + 1), readFileSync(path, 'latin1')] as const);
  return Object.fromEntries(found.filter(([path]) => !path.startsWith('objects/')));
}

async function outcomeOf(run: typeof byGit, edits: readonly Edit[], folder: string | undefined) {
  const dir = createTemporaryFolder();
  cpSync(sceneByGit().dir, dir, { recursive: true });
  if (folder !== undefined) mkdirSync(join(dir, folder), { recursive: true });
  const isDone = await run(dir, edits).then(
    () => true,
    () => false,
  );
  return { isDone, files: filesIn(dir) };
}

type Case = { done?: Edit[]; refused?: Edit[]; folder?: string };
const cases: Record<string, Case> = {
  'a new ref': { done: [['refs/threads/new/deep', null, 'one']] },
  'a new ref in place of empty folders': { done: [['refs/threads/e', null, 'one']], folder: 'refs/threads/e/m/pty' },
  'neighbours whose names begin alike': {
    done: ['n', 'n-1', 'n.m', 'nm'].map((name): Edit => [`refs/threads/${name}`, null, 'one']),
  },
  'a change of a loose ref': { done: [['refs/threads/loose', 'one', 'two']] },
  'a change of a packed ref': { done: [['refs/threads/packed', 'one', 'two']] },
  'a change of a ref with id in upper case': { done: [['refs/threads/upper', 'one', 'two']] },
  'the branch that HEAD leads to': { done: [['HEAD', null, 'one']] },
  'a change over a symbolic ref': { done: [['refs/aliases/loose', 'one', 'two']] },
  'a deletion of a loose ref': { done: [['refs/threads/loose', 'one', null]] },
  'a deletion of a ref whose folder of logs is a file': { done: [['refs/threads/deep/er/loose', 'one', null]] },
  'a deletion of a packed ref': { done: [['refs/threads/packed', 'one', null]] },
  'a deletion of the last packed ref': { done: [['refs/threads/z', 'one', null]] },
  'a deletion of a packed ref beside empty folders': {
    done: [['refs/threads/packed', 'one', null]],
    folder: 'refs/threads/packed/m/pty',
  },
  'a deletion of a ref that is loose and packed': { done: [['refs/threads/both', 'two', null]] },
  'a deletion of a ref with id in upper case': { done: [['refs/threads/upper', 'one', null]] },
  'a deletion over a symbolic ref': { done: [['refs/aliases/loose', 'one', null]] },
  'a ref that gets another name': {
    done: [
      ['refs/threads/both', 'two', null],
      ['refs/history/d/both', null, 'two'],
    ],
  },
  'assertions that hold beside a change': {
    done: [
      ['refs/threads/packed', 'one', 'one'],
      ['refs/threads/none', null, null],
      ['refs/threads/loose', 'one', 'two'],
    ],
  },
  'an assertion beside a change, and it does not hold': {
    refused: [
      ['refs/threads/loose', 'one', 'two'],
      ['refs/threads/z', 'two', 'two'],
    ],
  },
  'a ref that must not exist and does': { refused: [['refs/threads/packed', null, 'two']] },
  'a deletion of another value': { refused: [['refs/threads/both', 'one', null]] },
  'a ref below a loose one': { refused: [['refs/threads/loose/a/b', null, 'one']] },
  'an assertion below a loose ref': {
    refused: [
      ['refs/threads/a', null, 'one'],
      ['refs/threads/loose/b', null, null],
    ],
  },
  'a ref below a packed one': { refused: [['refs/threads/packed/b', null, 'one']] },
  'a ref above a loose one': { refused: [['refs/threads/deep', null, 'one']] },
  'a ref above a packed one': { refused: [['refs/threads/dir', null, 'one']] },
  'a ref below one that the transaction creates': {
    refused: [
      ['refs/threads/n', null, 'one'],
      ['refs/threads/n/m', null, 'one'],
    ],
  },
  'a ref below one that the transaction deletes': {
    refused: [
      ['refs/threads/loose', 'one', null],
      ['refs/threads/loose/below', null, 'one'],
    ],
  },
  'a ref below one that is asserted to be absent': {
    refused: [
      ['refs/threads/n', null, null],
      ['refs/threads/n/m', null, 'one'],
    ],
  },
  'a ref above one that is asserted to be absent': {
    refused: [
      ['refs/threads/n', null, 'one'],
      ['refs/threads/n/m', null, null],
    ],
  },
  'two changes of one ref': {
    refused: [
      ['refs/threads/n', null, 'one'],
      ['refs/threads/n', null, 'two'],
    ],
  },
  'two changes of one ref, one of them over a symbolic ref': {
    refused: [
      ['HEAD', null, 'one'],
      ['refs/heads/main', null, 'two'],
    ],
  },
};

test.each(Object.entries(cases))('%s: git and uwf do the same, and leave the same files', async (_, which) => {
  const { done, refused, folder } = which;
  const edits = done ?? refused ?? [];
  const git = await outcomeOf(byGit, edits, folder);
  expect(git.isDone).toBe(done !== undefined);
  if (!git.isDone) expect(git.files).toEqual(filesIn(sceneByGit().dir));
  expect(await outcomeOf(byUwf, edits, folder)).toEqual(git);
  expect(await outcomeOf(byUwf, edits.toReversed(), folder)).toEqual(git);
});
