import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  Journal,
  journalPaths,
  MAX_JOURNAL_BYTES,
  MAX_JOURNALS,
  pruneJournals,
  type JournalEntry,
} from '../../../src/engine/journal/journal.ts';
import { openJournal, readJournal, unfinishedTurn } from '../../../src/engine/journal/read-journal.ts';
import type { Repository } from '../../../src/git/repository.ts';
import { parseThreadId } from '../../../src/thread/thread-id.ts';
import { createTemporaryRepository } from '../../helpers/temporary-repository.ts';

const thread = parseThreadId('01JD0000000000000000000000');
const said = (text: string): { event: 'agent.text'; thread: typeof thread; role: string; text: string } => ({
  event: 'agent.text',
  thread,
  role: 'a',
  text,
});
const texts = (entries: readonly JournalEntry[]): string[] =>
  entries.flatMap((entry) => (entry.event === 'agent.text' ? entry.text : []));

async function openTemporary(): Promise<Repository & { stateDir: string }> {
  const repository = await createTemporaryRepository().open();
  // A repository on a disk has one.
  return repository as Repository & { stateDir: string };
}

describe('a journal', () => {
  test('gives back what was written, in order, each with its time', async () => {
    const repository = await openTemporary();
    const journal = new Journal({ ...repository, now: () => 42 });
    for (const text of ['one', 'two\n', 'drei \u{1F600}']) journal.write(said(text));
    journal.write({ event: 'debug', thread, about: 'decision', facts: { rule: 1 } });
    journal.close(thread);
    const entries = readJournal(repository, thread);
    expect(texts(entries)).toEqual(['one', 'two\n', 'drei \u{1F600}']);
    expect(entries.at(-1)).toEqual({ at: 42, event: 'debug', thread, about: 'decision', facts: { rule: 1 } });
  });

  test('is read on while it is written, over the change to a new file, without a line lost or twice', async () => {
    const repository = await openTemporary();
    const journal = new Journal(repository);
    const reader = openJournal(repository, thread);
    const read: string[] = [];
    const padding = '.'.repeat(30_000);
    for (let number = 0; number < 400; number += 1) {
      journal.write(said(`${number} ${padding}`));
      // Urgent: written at once, with what waits.
      journal.write({ event: 'reply.refused', thread, role: 'a', attempt: 0, errors: [], isLast: false });
      if (number % 3 === 0) read.push(...texts(reader.next()));
    }
    read.push(...texts(reader.next()));
    reader.close();
    expect(read.map((text) => Number(text.split(' ')[0]))).toEqual(Array.from({ length: 400 }, (_, number) => number));
  });

  test('keeps the newest under a flood, and no more on the disk than it may', async () => {
    const repository = await openTemporary();
    const journal = new Journal(repository);
    for (let number = 0; number < 3000; number += 1) journal.write(said(`${number} ${'x'.repeat(50_000)}`));
    journal.write(said('the last'));
    journal.close(thread);
    const { current, older } = journalPaths(repository.stateDir, thread);
    // The last writing may have made the current file the older one.
    for (const { size, mode } of [current, older].filter(existsSync).map((path) => statSync(path))) {
      // A file makes room when it is too large, so that it may be so by what is written at once.
      expect(size).toBeLessThan(MAX_JOURNAL_BYTES + 1.5 * 1024 * 1024);
      expect(mode & 0o077).toBe(0);
    }
    const entries = readJournal(repository, thread);
    const skipped = entries.flatMap((entry) => (entry.event === 'journal.skipped' ? entry.lines : []));
    expect(skipped.length).toBeGreaterThan(0);
  });

  test('shortens what is very long, and says so', async () => {
    const repository = await openTemporary();
    const journal = new Journal(repository);
    journal.write({
      event: 'agent.tool',
      thread,
      role: 'a',
      id: '1',
      name: 'w',
      arguments: { text: 'y'.repeat(100_000) },
    });
    journal.close(thread);
    const { current } = journalPaths(repository.stateDir, thread);
    expect(readFileSync(current, 'utf8').length).toBeLessThan(70_000);
    expect(JSON.stringify(readJournal(repository, thread))).toContain('[uwf left 34464 characters out here]');
  });

  test('passes over lines that a crash cut off', async () => {
    const repository = await openTemporary();
    const { current } = journalPaths(repository.stateDir, thread);
    mkdirSync(join(current, '..'), { recursive: true });
    writeFileSync(current, `${JSON.stringify({ at: 1, ...said('whole') })}\n{"at":2,"event":"agent.te\n[1]\nnull\n`);
    expect(texts(readJournal(repository, thread))).toEqual(['whole']);
  });

  test('is silent where it cannot be written', async () => {
    const repository = await openTemporary();
    mkdirSync(repository.stateDir, { recursive: true });
    writeFileSync(join(repository.stateDir, 'journal'), 'in the way');
    const journal = new Journal(repository);
    journal.write(said('x'));
    journal.close(thread);
    expect(readJournal(repository, thread)).toEqual([]);
    const nowhere = new Journal({ ...repository, stateDir: undefined });
    nowhere.write(said('x'));
    expect(readJournal({ ...repository, stateDir: undefined }, thread)).toEqual([]);
  });
});

test('of too many journals those go that were not written for longest, but for threads that somebody works on', async () => {
  const { stateDir } = await openTemporary();
  const ids = Array.from({ length: MAX_JOURNALS + 5 }, (_, number) =>
    parseThreadId(`01JD000000000000000000${String(number).padStart(4, '0')}`),
  );
  for (const [age, id] of ids.entries()) {
    const { current } = journalPaths(stateDir, id);
    mkdirSync(join(current, '..'), { recursive: true });
    writeFileSync(current, '');
    utimesSync(current, 2_000_000 - age, 2_000_000 - age);
  }
  pruneJournals(stateDir, (id) => id === ids.at(-1));
  const left = readdirSync(join(stateDir, 'journal')).map((name) => name.replace('.jsonl', ''));
  expect(left).toEqual([...ids.slice(0, MAX_JOURNALS), ids.at(-1)]);
});

test('the turn that goes on, or was cut off, is what came since it started', () => {
  const started = { at: 1, event: 'step.started', thread, role: 'a', agent: 'x', number: 1, visit: 0 } as const;
  const finished = { at: 2, event: 'thread.suspended' } as JournalEntry;
  const text = { at: 1, ...said('x') };
  expect(unfinishedTurn([started, text, finished])).toEqual([]);
  expect(unfinishedTurn([text, started, text, started, text, text])).toEqual([started, text, text]);
  expect(unfinishedTurn([text])).toEqual([]);
});
