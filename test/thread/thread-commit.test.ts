import { beforeAll, describe, expect, test } from 'vitest';
import { parseNodeHash, prepareHashing } from '../../src/cas/hash.ts';
import { builtIn } from '../../src/schema/built-in.ts';
import { appendStep } from '../../src/thread/append-step.ts';
import { endThread } from '../../src/thread/end-thread.ts';
import { resumeThread, suspendThread } from '../../src/thread/suspend-thread.ts';
import {
  eventOf,
  fileTypes,
  findEventFile,
  findNodeAt,
  indexedFolder,
  kindOfFile,
  readTextAt,
  readThreadCommit,
  statusOf,
  timeOfCommit,
  type ThreadCommit,
} from '../../src/thread/thread-commit.ts';
import { createMapRepository, type MapRepository } from '../helpers/map-repository.ts';
import { watched } from '../helpers/watched-repository.ts';
import { forge } from '../verify/forge-commit.ts';
import { startLoop, stepDraft, suspensionDraft } from './thread-fixture.ts';

const kinds = ['start', 'step', 'suspend', 'resume', 'end'] as const;

let repository: MapRepository;
/** A commit of each kind. */
let commits: ThreadCommit[];

beforeAll(async () => {
  await prepareHashing();
  repository = createMapRepository();
  const start = await startLoop(repository);
  const one = await appendStep(repository, start, stepDraft());
  const waiting = await suspendThread(repository, one, suspensionDraft());
  const resumed = await resumeThread(repository, waiting, 'the left one');
  const ended = await endThread(repository, resumed, { outcome: 'completed', returnCode: 0, summary: 'Done.' });
  commits = [start, one, waiting, resumed, ended].map(({ head }) => head);
});

const stepCommit = (): ThreadCommit => commits[1]!;

describe('a commit of a thread', () => {
  test('is read with its node, whatever its kind', async () => {
    for (const [at, kind] of kinds.entries()) {
      const expected = commits[at]!;
      const read = await readThreadCommit(repository, expected.id);
      expect(read).toEqual(expected);
      expect(read.kind).toBe(kind);
      const entry = read.index.find(({ path }) => path === `${kind}.json`)!;
      expect(read.hash).toBe(entry.hash);
      expect(await findNodeAt(repository, read, entry.path)).toMatchObject({
        type: expect.any(String),
        payload: read.node,
      });
    }
  });

  test('is not read again where it is known', async () => {
    const spied = watched(repository);
    const { id, commit } = stepCommit();
    await readThreadCommit(spied.repository, id, commit);
    expect(spied.read).not.toContain(id);
  });

  test('has the time of what it records', () => {
    const [start, step, suspend, resume, end] = commits.map(({ node }) => node as unknown as Record<string, number>);
    expect(commits.map(timeOfCommit)).toEqual([
      start!['startedAtMs'],
      step!['completedAtMs'],
      suspend!['suspendedAtMs'],
      resume!['resumedAtMs'],
      end!['completedAtMs'],
    ]);
  });

  test('is corrupt without the node that makes it one', async () => {
    const id = forge(repository, stepCommit().id, ({ files, listed }) => {
      files.delete('step.json');
      listed.delete('step.json');
    });
    await expect(readThreadCommit(repository, id)).rejects.toMatchObject({
      code: 'corrupt-thread',
      message: `commit ${id} is not a sound part of a thread: its tree has no start, step, suspend, resume or end node`,
    });
  });
});

describe('the node of a commit', () => {
  test('is of the type that its file promises', () => {
    expect(fileTypes).toEqual({
      start: 'thread-start',
      step: 'thread-step',
      suspend: 'thread-suspend',
      resume: 'thread-resume',
      end: 'thread-end',
    });
    for (const { id, kind, node } of commits) {
      const payload = structuredClone(node) as never;
      expect(eventOf(id, kind, { type: builtIn[fileTypes[kind]], payload })).toEqual({ kind, node });
    }
  });

  test.each(kinds)('is not of another built-in type: %s', (kind) => {
    const { id } = stepCommit();
    expect(() => eventOf(id, kind, { type: builtIn.content, payload: { text: '' } })).toThrow(
      expect.objectContaining({
        code: 'corrupt-thread',
        message: `commit ${id} is not a sound part of a thread: ${kind}.json has the type ${builtIn.content}`,
      }),
    );
  });

  test.each(kinds)('of a type that is not known is of a newer version, or of a build before format 1: %s', (kind) => {
    const { id } = stepCommit();
    const type = parseNodeHash('0000000000000');
    const mark = kind === 'start' ? 'format' : 'totals';
    expect(() => eventOf(id, kind, { type, payload: { [mark]: 2 } })).toThrow(
      expect.objectContaining({
        code: 'newer-format',
        type,
        message: expect.stringContaining(`${kind}.json of commit ${id}`),
      }),
    );
    for (const payload of [{}, [], null]) {
      expect(() => eventOf(id, kind, { type, payload })).toThrow(expect.objectContaining({ code: 'before-format' }));
    }
  });

  test.each(kinds)('has the form of its type: %s', (kind) => {
    const node = { type: builtIn[fileTypes[kind]], payload: {} };
    expect(() => eventOf(stepCommit().id, kind, node)).toThrow(expect.objectContaining({ code: 'unexpected-node' }));
  });
});

describe('a file of a commit', () => {
  test.each([
    ['start.json', 'start'],
    ['end.json', 'end'],
    ['step', undefined],
    ['step12345', undefined],
    ['.json', undefined],
    ['old/step.json', undefined],
    ['agent.json', undefined],
    ['toString.json', undefined],
  ])('%s makes it a commit of kind %s', (path, kind) => {
    expect(kindOfFile(path)).toBe(kind);
    const files = [{ path: 'index' }, { path }, { path: 'end.json' }];
    expect(findEventFile(files)?.file.path).toBe(kind === undefined ? 'end.json' : path);
    expect(findEventFile([{ path: 'index' }])).toBeUndefined();
  });

  test('is read as a text where it is one', async () => {
    const commit = stepCommit();
    expect(await readTextAt(repository, commit, 'output.md')).toBe('# A poem\n\nRoses are red.\n');
    expect(await findNodeAt(repository, commit, 'summary.md')).toBeUndefined();
    for (const path of ['summary.md', 'step.json']) {
      await expect(readTextAt(repository, commit, path)).rejects.toMatchObject({
        code: 'corrupt-thread',
        message: `commit ${commit.id} is not a sound part of a thread: ${path} is no content node`,
      });
    }
  });

  test.each([
    ['workflow/roles/a.json', 'workflow/'],
    ['children/writer/roles/a.json', 'children/writer/'],
    ['children/a', ''],
    ['children//a', ''],
    ['old/workflow/a', ''],
    ['workflows/a', ''],
    ['output.md', ''],
  ])('%s is listed in the index of the folder %j', (path, folder) => {
    expect(indexedFolder(path)).toBe(folder);
  });
});

test.each([
  [{ $status: 'done' }, 'done'],
  [{ $status: '' }, ''],
  [{ $status: 3 }, null],
  [{ status: 'done' }, null],
])('the status of the meta %j is %j', (meta, status) => {
  expect(statusOf(meta)).toBe(status);
});
