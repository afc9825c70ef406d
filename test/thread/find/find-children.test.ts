import { readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readingContext } from '../../../src/engine/engine-context.ts';
import { describeThread } from '../../../src/engine/describe/describe.ts';
import { forgetThread, listLocalTraces } from '../../../src/thread/remove/local-traces.ts';
import type { Repository } from '../../../src/git/repository.ts';
import { derivedContent } from '../../../src/git/system/derived-file.ts';
import { findChildren } from '../../../src/thread/find/find-children.ts';
import { MANY_THREADS } from '../../../src/thread/read/head-table.ts';
import type { ThreadState } from '../../../src/thread/read/thread-state.ts';
import { createTemporaryRepository } from '../../helpers/temporary-repository.ts';
import { watched } from '../../helpers/watched-repository.ts';
import { calledBy, startLoop } from '../thread-fixture.ts';

function childOf(repository: Repository, caller: ThreadState): Promise<ThreadState> {
  return startLoop(repository, calledBy(caller));
}

/** A caller, two children of it, a child of another thread, and more threads than are looked at one by one. */
async function family() {
  const temporary = createTemporaryRepository();
  const repository = await temporary.open();
  const caller = await startLoop(repository);
  const children = [await childOf(repository, caller)];
  for (let at = 0; at < MANY_THREADS; at += 1) await startLoop(repository);
  const stranger = await startLoop(repository);
  await childOf(repository, stranger);
  children.push(await childOf(repository, caller));
  const tables = join(String(repository.stateDir), 'facts', 'many');
  return { temporary, repository, caller, children: children.map(({ id }) => id).toSorted(), stranger, tables };
}

async function idsOf(repository: Repository, caller: ThreadState): Promise<string[]> {
  return (await findChildren(repository, caller)).map(({ pointer }) => pointer.id);
}

const damages: Record<string, (path: string) => void> = {
  missing: (path) => rmSync(path),
  'cut off': (path) => truncateSync(path, Math.floor(readFileSync(path).length / 3)),
  'of another form': (path) => writeFileSync(path, derivedContent(path, 'starts 0', '[]')),
  'not rows': (path) => writeFileSync(path, derivedContent(path, 'starts 2', 'x\n1 2\n\ny')),
  'of other heads': (path) =>
    changeRows(path, (id) => `${id} ${'0'.repeat(40)} {"start":"${'0'.repeat(40)}","parentStart":null}\n`),
  'without values': (path) => changeRows(path, (id, head) => `${id} ${head} null\n`),
  'without JSON': (path) => changeRows(path, (id, head) => `${id} ${head} {\n`),
};

function changeRows(path: string, change: (id: string, head: string) => string): void {
  const text = readFileSync(path, 'utf8');
  const [, ...rows] = text
    .slice(0, text.length / 2)
    .split('\n')
    .slice(0, -1);
  const changed = rows.map((row) => change(row.slice(0, 26), row.slice(27, 67)));
  writeFileSync(path, derivedContent(path, 'starts 2', changed.join('')));
}

test('the children among many threads are found by reading each thread once on a machine', async () => {
  const { temporary, caller, children, tables } = await family();
  const { repository, read } = watched(await temporary.open());
  expect(await idsOf(repository, caller)).toEqual(children);
  expect(read.length).toBeGreaterThan(MANY_THREADS);

  const again = watched(await temporary.open());
  expect(await idsOf(again.repository, caller)).toEqual(children);
  expect(again.read.length).toBeLessThan(MANY_THREADS / 2);

  for (const [, damage] of Object.entries(damages)) {
    for (const name of readdirSync(tables)) damage(join(tables, name));
    const damaged = watched(await temporary.open());
    expect(await idsOf(damaged.repository, caller)).toEqual(children);
    expect(damaged.read.length).toBe(read.length);
  }
});

test('a thread among many is shown with its children', async () => {
  const { temporary, caller, children, stranger } = await family();
  for (let round = 0; round < 2; round += 1) {
    const context = readingContext(await temporary.open());
    expect((await describeThread(context, caller.id)).children.toSorted()).toEqual(children);
    expect((await describeThread(context, stranger.id)).children).toHaveLength(1);
  }
});

test('nothing of a removed thread stays in a table', async () => {
  const { repository, caller, children } = await family();
  await idsOf(repository, caller);
  const traced = (): string[] => listLocalTraces(String(repository.stateDir)).map(({ thread }) => thread);
  expect(traced()).toContain(children[0]);
  forgetThread(repository, children[0]!);
  expect(traced()).not.toContain(children[0]);
  expect(traced()).not.toEqual([]);
});
