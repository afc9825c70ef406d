import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { leasePath } from '../../../src/engine/leases/find-lease.ts';
import { createRecordFile, prepareLeaseFolder } from '../../../src/engine/leases/lease.ts';
import { ownIdentity } from '../../../src/git/system/process-identity.ts';
import type { Repository } from '../../../src/git/repository.ts';
import { suspendThread } from '../../../src/thread/thread-verbs.ts';
import type { ThreadState } from '../../../src/thread/thread-state.ts';
import { createMemoryRepository, createRepositoryWithState } from '../../helpers/memory-repository.ts';
import { visitorOf } from '../../helpers/web-visitor.ts';
import { startLoop, stepDraft } from '../../thread/thread-fixture.ts';

async function suspendedThread(repository: Repository, prompt: string): Promise<ThreadState> {
  const thread = await startLoop(repository, { prompt });
  const turn = stepDraft();
  return suspendThread(repository, thread, { ...turn, reason: 'Which rose?', cause: 'human', trace: undefined });
}

/** What the threads of a page are called, with the title of their group. */
function groupsOf(page: string): Record<string, string[]> {
  const groups: Record<string, string[]> = {};
  for (const [, title = '', list = ''] of page.matchAll(/<h2[^>]*>([^<]*?) <span.*?<ul[^>]*>(.*?)<\/ul>/gs)) {
    groups[title] = [...list.matchAll(/class="task"[^>]*>([^<]*)</g)].map(([, task = '']) => task);
  }
  return groups;
}

test('an old thread that waits for a person comes before all that are newer', async () => {
  const { repository } = await createMemoryRepository(Date.now);
  await suspendedThread(repository, 'the old one');
  for (let at = 0; at < 51; at += 1) await startLoop(repository, { prompt: `number ${at}` });
  const visitor = await visitorOf(repository);
  const groups = groupsOf(await visitor.page('/'));
  expect(groups['Waiting for you']).toEqual(['the old one']);
  expect(groups['Others']).toHaveLength(50);
  expect(groups['Others']?.[0]).toBe('number 50');
});

test('a thread that is answered waits no longer', async () => {
  const { repository } = await createMemoryRepository(Date.now);
  const { id, head } = await suspendedThread(repository, 'the one');
  const visitor = await visitorOf(repository);
  expect(groupsOf(await visitor.page('/'))).toEqual({ 'Waiting for you': ['the one'] });
  const name = (await repository.refs.list('refs/threads/'))[0]!.name;
  await repository.refs.update([{ name, expected: head.id, value: head.commit.parents[0]! }]);
  expect(id).toBe(name.split('/').at(-1));
  expect(groupsOf(await visitor.page('/'))).toEqual({ Others: ['the one'] });
});

test('a thread whose process died was interrupted, and does not count as one that waits for a person', async () => {
  const repository = await createRepositoryWithState();
  await suspendedThread(repository, 'asks');
  const { id } = await startLoop(repository, { prompt: 'left' });
  const path = leasePath(repository.stateDir, id);
  prepareLeaseFolder(dirname(path));
  // Of this process's pid, one that started at another time.
  const holder = { ...ownIdentity(), startTime: '1' };
  createRecordFile(path, { token: 'dead', holder, sinceMs: 1, deadlineMs: 2, processGroups: [] });
  const visitor = await visitorOf(repository);
  expect(groupsOf(await visitor.page('/'))).toEqual({ 'Waiting for you': ['asks'], Interrupted: ['left'] });
});

test('filters are those of the address, and pages follow each other', async () => {
  const { repository } = await createMemoryRepository(Date.now);
  for (let at = 0; at < 60; at += 1)
    await startLoop(repository, { prompt: at % 2 === 0 ? `rose ${at}` : `tulip ${at}` });
  const visitor = await visitorOf(repository);
  const page = await (await visitor.get('/?text=ROSE')).text();
  expect(groupsOf(page)['Others']).toHaveLength(30);
  expect(page).toContain('value="ROSE"');
  const first = await visitor.page('/');
  const older = /href="(\/\?after=[^"]+)"/.exec(first)?.[1] ?? '';
  expect(groupsOf(await (await visitor.get(older)).text())['Others']).toHaveLength(10);
  expect(groupsOf(await (await visitor.get('/?status=failed')).text())).toEqual({});
});

test('texts of threads are shown as texts', async () => {
  const { repository } = await createMemoryRepository(Date.now);
  await startLoop(repository, { prompt: '<script>alert(1)</script>"\' onload="x' });
  const visitor = await visitorOf(repository);
  const page = await (await visitor.get('/?text=%22%3E%3Cscript%3Ealert(2)')).text();
  expect(page).not.toMatch(/<script(?! src="\/assets\/)/);
  expect(await visitor.page('/')).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
});

test('nothing that an agent or a person says turns the direction of the text around it', async () => {
  const { repository } = await createMemoryRepository(Date.now);
  await startLoop(repository, { prompt: 'remove \u202Etxt.important\u202C and \u2067this\u2069, not \u200F\u05D0' });
  const visitor = await visitorOf(repository);
  const page = await visitor.page('/');
  expect(page).toContain('remove \uFFFDtxt.important\uFFFD and \uFFFDthis\uFFFD, not \u200F\u05D0');
});
