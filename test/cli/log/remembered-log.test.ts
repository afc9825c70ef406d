import { existsSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { DiskObjectStore } from '../../../src/git/stores/disk/disk-object-store.ts';
import { derivedContent } from '../../../src/git/system/derived-file.ts';
import type { Repository } from '../../../src/git/repository.ts';
import { appendStep } from '../../../src/thread/append/append-step.ts';
import { endThread } from '../../../src/thread/append/end-thread.ts';
import { activeRef } from '../../../src/thread/thread-refs.ts';
import type { ThreadState } from '../../../src/thread/read/thread-state.ts';
import { createCliRepository, type CliRepository } from '../../helpers/cli.ts';
import { startLoop, stepDraft } from '../../thread/thread-fixture.ts';

let place: CliRepository;
let repository: Repository;
let thread: ThreadState;

async function addSteps(count: number, text = 'A line.\n'): Promise<void> {
  for (let step = 0; step < count; step += 1) {
    const number = thread.tally.steps + 1;
    thread = await appendStep(repository, thread, stepDraft({ text: `Reply ${number}: ${text}` }));
  }
}

function remembered(): string {
  return join(place.dir, '.git/uwf/facts', thread.id.slice(-2), `${thread.id}.log`);
}

async function log(...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await place.uwf(['log', thread.id, ...words]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
}

/** The same of what is stored alone. */
async function logAfresh(...words: string[]): Promise<string> {
  const kept = existsSync(remembered()) ? readFileSync(remembered()) : undefined;
  rmSync(remembered(), { force: true });
  const told = await log(...words);
  rmSync(remembered(), { force: true });
  if (kept !== undefined) writeFileSync(remembered(), kept);
  return told;
}

async function countReads(...words: string[]): Promise<number> {
  const read = vi.spyOn(DiskObjectStore.prototype, 'read');
  await log(...words);
  const { length } = read.mock.calls;
  read.mockRestore();
  return length;
}

beforeEach(async () => {
  place = createCliRepository();
  repository = await place.open();
  thread = await startLoop(repository);
});

test('whatever was asked before and has come since, what is told is what is stored', async () => {
  const command = fc.record({ steps: fc.integer({ min: 0, max: 3 }), most: fc.integer({ min: 1, max: 12 }) });
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 2, maxLength: 6 }), async (commands) => {
      thread = await startLoop(repository);
      for (const { steps, most } of commands) {
        await addSteps(steps);
        const words = ['-n', String(most), '--json'];
        expect(await log(...words)).toBe(await logAfresh(...words));
      }
      expect(await log()).toBe(await logAfresh());
      expect(await log('--oneline')).toBe(await logAfresh('--oneline'));
    }),
    { numRuns: 12 },
  );
});

test('of what was told before only the steps that came since are read', async () => {
  await addSteps(8);
  await log('-n', '5');
  expect(await countReads('-n', '5')).toBe(0);
  expect(await countReads('-n', '3')).toBe(0);
  await addSteps(1);
  // Commit, tree and node.
  expect(await countReads('-n', '5')).toBe(3);
  expect(await countReads('-n', '6')).toBe(0);
});

test('a thread that ended is told as ended', async () => {
  await addSteps(1);
  expect(await log()).toContain('idle)');
  await endThread(repository, thread, { outcome: 'failed', returnCode: 3, summary: 'It does not work.' });
  const [first] = (await log()).split('\n');
  expect(first).toContain(`(head of ${thread.id}: failed)`);
  expect((await log()).split('\n')[0]).toBe(first);
});

describe('what cannot be believed is not:', () => {
  test.each([
    ['nothing', () => truncateSync(remembered(), 0)],
    ['half of it', () => truncateSync(remembered(), Math.floor(statSync(remembered()).size / 2))],
    ['another version', () => change((text) => text.replaceAll('log 4 ', 'log 3 '))],
    [
      'the halves of two',
      () =>
        change(
          (text) =>
            text.slice(0, text.length / 2) +
            text
              .slice(text.length / 2)
              .replace('idle', 'busy')
              .replace(/1/, '2'),
        ),
    ],
    ['no object', () => change(() => derivedContent(remembered(), 'log 2', '[]'))],
    ['no entries', () => change(() => derivedContent(remembered(), 'log 2', '{"next":null}'))],
    [
      'entries of another form',
      () => change(() => derivedContent(remembered(), 'log 2', '{"next":null,"entries":[{}]}')),
    ],
  ])('%s', async (_, damage) => {
    await addSteps(3);
    const told = await log('-n', '2');
    damage();
    expect(await log('-n', '2')).toBe(told);
    expect(await countReads('-n', '2')).toBe(0);
  });

  function change(how: (text: string) => string): void {
    const before = readFileSync(remembered(), 'utf8');
    const after = how(before);
    expect(after).not.toBe(before);
    writeFileSync(remembered(), after);
  }
});

test('what another head told is forgotten when the thread is set back', async () => {
  await addSteps(2);
  const earlier = thread;
  await addSteps(2);
  await log();
  await repository.refs.update([{ name: activeRef(thread.id), expected: thread.head.id, value: earlier.head.id }]);
  thread = earlier;
  expect(await log('--json')).toBe(await logAfresh('--json'));
});

test('of long texts no more than 64 thousand characters are kept, twice, and all of them are told', async () => {
  await addSteps(5, `${'words '.repeat(4000)}\n`);
  expect(await log()).toBe(await logAfresh());
  await log();
  expect(statSync(remembered()).size).toBeLessThan(2 * 70_000);
  expect(await countReads('-n', '2')).toBe(0);
});

test('a log of all threads keeps nothing', async () => {
  await addSteps(2);
  const { code } = await place.uwf(['log', '--all']);
  expect(code).toBe(0);
  expect(existsSync(remembered())).toBe(false);
});
