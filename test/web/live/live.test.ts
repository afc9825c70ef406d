import type * as FileSystem from 'node:fs';
import { appendFileSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { readingContext, type EngineContext } from '../../../src/engine/engine-context.ts';
import { journalPaths } from '../../../src/engine/journal/journal.ts';
import { openJournal } from '../../../src/engine/journal/read-journal.ts';
import type { Repository } from '../../../src/git/repository.ts';
import { parseThreadId } from '../../../src/thread/thread-id.ts';
import type { LiveEvent } from '../../../src/web/live/running-turn.ts';
import { Live, placeText, shownIn, stateOf, WaitingThreads } from '../../../src/web/live/live.ts';
import { createLoopRepository, type CliRepository } from '../../helpers/cli.ts';

/** Longer than a process takes to start where others work. */
const soon = { timeout: 60_000 };

type Scene = { cli: CliRepository; repository: Repository; engine: EngineContext; live: Live };

async function scene(): Promise<Scene> {
  const cli = createLoopRepository();
  const repository = await cli.open();
  const engine = readingContext(repository);
  onTestFinished(() => repository.close());
  return { cli, repository, engine, live: new Live(engine, new WaitingThreads(engine)) };
}

/** A browser that shows something, and what it is told. */
function watcher(live: Live, query: string): { told: LiveEvent[]; leave(): void } {
  const told: LiveEvent[] = [];
  const leaving = new AbortController();
  live.open(shownIn(new URLSearchParams(query)), (event) => told.push(event), leaving.signal);
  onTestFinished(() => leaving.abort());
  return { told, leave: () => leaving.abort() };
}

const stateTold = (told: readonly LiveEvent[], topic: string): string | undefined =>
  told.flatMap((event) => (event.event === 'state' && event.topic === topic ? event.state : [])).at(-1);

const startThread = async ({ cli }: Scene): Promise<string> => {
  const thread = await cli.start('loop', 'Write');
  return thread;
};

test('a browser is told on connecting what differs from what it shows, and nothing else', async () => {
  const at = await scene();
  const thread = await startThread(at);
  const states = await Promise.all(['threads', thread].map((topic) => stateOf(at.engine, topic)));
  const current = watcher(at.live, `state=threads@${states[0]}&state=${thread}@${states[1]}`);
  const stale = watcher(at.live, `state=threads@old&state=${thread}@${states[1]}`);
  await vi.waitFor(() => expect(stale.told).toEqual([{ event: 'state', topic: 'threads', state: states[0] }]), soon);
  expect(current.told).toEqual([]);
});

test('a browser that shows two threads beside each other is told when one of them is removed', async () => {
  const at = await scene();
  const [one, other] = [await startThread(at), await startThread(at)];
  const topic = `${one}..${other}`;
  const { told } = watcher(at.live, `state=${topic}@${await stateOf(at.engine, topic)}`);
  await at.cli.uwf(['thread', 'rm', other, '--force']);
  await vi.waitFor(() => expect(stateTold(told, topic)).toBeDefined(), soon);
});

test('while many refs change, each browser is told the last state, and no state twice in a row', async () => {
  const at = await scene();
  const browsers = Array.from({ length: 8 }, () => watcher(at.live, 'state=threads@&state=waiting@'));
  for (let number = 0; number < 12; number += 1) await startThread(at);
  const last = await stateOf(at.engine, 'threads');
  for (const { told } of browsers) {
    await vi.waitFor(() => expect(stateTold(told, 'threads')).toBe(last), soon);
    const states = told.flatMap((event) => (event.event === 'state' && event.topic === 'threads' ? event.state : []));
    expect(states.every((state, index) => state !== states[index - 1])).toBe(true);
    expect(stateTold(told, 'waiting')).toMatch(/^0\./);
  }
  for (const browser of browsers) browser.leave();
  expect(at.live.streams).toBe(0);
});

test('folders of refs that are removed and made again are watched on', async () => {
  const at = await scene();
  const thread = await startThread(at);
  const { told } = watcher(at.live, 'state=threads@');
  await vi.waitFor(() => expect(told).toHaveLength(1), soon);
  // As git does with folders that become empty.
  at.cli.git('pack-refs', '--all');
  rmSync(join(at.cli.dir, '.git/refs/threads'), { recursive: true, force: true });
  await sleep(100);
  await startThread(at);
  const last = await stateOf(at.engine, 'threads');
  await vi.waitFor(() => expect(stateTold(told, 'threads')).toBe(last), soon);
  at.cli.git('update-ref', '-d', `refs/threads/${thread}`);
  const gone = await stateOf(at.engine, 'threads');
  expect(gone).not.toBe(last);
  await vi.waitFor(() => expect(stateTold(told, 'threads')).toBe(gone), soon);
});

test('without watchers of the system, a slow look finds changes', async () => {
  vi.doMock('node:fs', async (original) => ({
    ...(await original<typeof FileSystem>()),
    watch: () => {
      throw new Error('no watchers are left');
    },
  }));
  vi.resetModules();
  vi.useFakeTimers({ toFake: ['setInterval'] });
  onTestFinished(() => {
    vi.useRealTimers();
    vi.doUnmock('node:fs');
    vi.resetModules();
  });
  const { Live: Blind } = await import('../../../src/web/live/live.ts');
  const at = await scene();
  const { told } = watcher(new Blind(at.engine, new WaitingThreads(at.engine)), 'state=threads@');
  await vi.waitFor(() => expect(told).toHaveLength(1), soon);
  await startThread(at);
  vi.advanceTimersByTime(60_000);
  const last = await stateOf(at.engine, 'threads');
  await vi.waitFor(() => expect(stateTold(told, 'threads')).toBe(last), soon);
});

test('a lease that cannot be read ends no stream', async () => {
  const at = await scene();
  const thread = await startThread(at);
  const { told } = watcher(at.live, `state=threads@&state=${thread}@`);
  await vi.waitFor(() => expect(told).toHaveLength(2), soon);
  const lease = join(at.repository.stateDir ?? '', 'leases', `${thread}.json`);
  mkdirSync(dirname(lease), { recursive: true });
  mkdirSync(lease);
  await sleep(200);
  rmSync(lease, { recursive: true });
  await startThread(at);
  const last = await stateOf(at.engine, 'threads');
  await vi.waitFor(() => expect(stateTold(told, 'threads')).toBe(last), soon);
});

const thread = parseThreadId('01JD0000000000000000000000');
const say = (path: string, text: string): void => {
  mkdirSync(dirname(path), { recursive: true });
  appendFileSync(path, `${JSON.stringify({ at: 1, event: 'agent.text', thread, role: 'a', text })}\n`);
};

test('words are told from the place that a browser has reached, each once and in order', async () => {
  const { repository, live } = await scene();
  const { current } = journalPaths(repository.stateDir ?? '', thread);
  say(current, 'shown');
  const reader = openJournal(repository, thread);
  reader.next();
  const place = placeText(reader.place());
  reader.close();
  const { told } = watcher(live, `journal=${thread}@${place}`);
  for (let number = 0; number < 30; number += 1) {
    say(current, `${number} `);
    if (number % 7 === 0) await sleep(30);
  }
  const words = (): (LiveEvent & { event: 'words' })[] =>
    told.flatMap((event) => (event.event === 'words' ? event : []));
  const all = Array.from({ length: 30 }, (_, number) => `${number} `).join('');
  const said = (): string =>
    words()
      .flatMap(({ parts }) => parts.map(({ text }) => text))
      .join('');
  await vi.waitFor(() => expect(said()).toBe(all), soon);
  expect(words().map(({ from }) => from)).toEqual([place, ...words().map((each) => each.place)].slice(0, -1));
});

test('a browser whose place is gone is told to load the page again, not words that do not follow', async () => {
  const { repository, live } = await scene();
  const { current, older } = journalPaths(repository.stateDir ?? '', thread);
  say(current, 'shown');
  const reader = openJournal(repository, thread);
  reader.next();
  renameSync(current, older);
  say(current, 'lost');
  renameSync(current, older);
  say(current, 'left');
  const { told } = watcher(live, `journal=${thread}@${placeText(reader.place())}`);
  reader.close();
  expect(told).toEqual([{ event: 'turn', thread }]);
  say(current, 'next');
  await vi.waitFor(() => expect(told).toMatchObject([{}, { event: 'words', parts: [{ text: 'next' }] }]), soon);
});

test('what a browser asks for that is not a topic is passed over', () => {
  const shown = shownIn(new URLSearchParams('state=../x@1&state=..@1&state=threads@2&journal=x@&journal=01JD@1:2:3'));
  expect([...shown.states]).toEqual([['threads', '2']]);
  expect(shown.journals.size).toBe(0);
});
