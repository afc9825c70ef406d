import { beforeAll, describe, expect, test } from 'vitest';
import { prepareHashing } from '../../src/cas/hash.ts';
import { appendStep } from '../../src/thread/append-step.ts';
import { endThread, resumeThread, suspendThread } from '../../src/thread/thread-verbs.ts';
import {
  findEventFile,
  indexedFolder,
  kindOfFile,
  readThreadCommit,
  statusOf,
  type ThreadCommit,
} from '../../src/thread/thread-commit.ts';
import { createMapRepository, type MapRepository } from '../helpers/map-repository.ts';
import { watched } from '../helpers/watched-repository.ts';
import { forge } from '../verify/forge-commit.ts';
import { startLoop, stepDraft, suspensionDraft } from './thread-fixture.ts';

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
  test('is not read again where it is known', async () => {
    const spied = watched(repository);
    const { id, commit } = stepCommit();
    await readThreadCommit(spied.repository, id, commit);
    expect(spied.read).not.toContain(id);
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
