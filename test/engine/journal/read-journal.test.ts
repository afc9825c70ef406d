import { appendFileSync, mkdirSync, renameSync, rmSync, truncateSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { journalPaths, type JournalEntry } from '../../../src/engine/journal/journal.ts';
import { openJournal, type JournalReader } from '../../../src/engine/journal/read-journal.ts';
import type { Repository } from '../../../src/git/repository.ts';
import { parseThreadId } from '../../../src/thread/thread-id.ts';
import { createTemporaryRepository } from '../../helpers/temporary-repository.ts';

const thread = parseThreadId('01JD0000000000000000000000');
const lineOf = (text: string): string => `${JSON.stringify({ at: 1, event: 'agent.text', thread, role: 'a', text })}\n`;
const textsOf = (entries: readonly JournalEntry[]): string[] =>
  entries.flatMap((entry) => (entry.event === 'agent.text' ? entry.text : []));

type Scene = {
  repository: Repository;
  current: string;
  older: string;
  say(...texts: string[]): void;
  putAside(): void;
  /** The texts that a reader gives now. */
  read(reader: JournalReader): string[];
};

async function scene(): Promise<Scene> {
  const repository = await createTemporaryRepository().open();
  const { current, older } = journalPaths(repository.stateDir ?? '', thread);
  mkdirSync(dirname(current), { recursive: true });
  return {
    repository,
    current,
    older,
    say: (...texts) => appendFileSync(current, texts.map(lineOf).join('')),
    putAside: () => renameSync(current, older),
    read: (reader) => textsOf(reader.next()),
  };
}

test('a reader that gets a place reads on there', async () => {
  const { repository, say, read } = await scene();
  say('one', 'two');
  const first = openJournal(repository, thread);
  expect(read(first)).toEqual(['one', 'two']);
  const place = first.place();
  first.close();
  say('three');
  const second = openJournal(repository, thread, place);
  expect(read(second)).toEqual(['three']);
  expect(second.hasGap()).toBe(false);
  expect(read(second)).toEqual([]);
  second.close();
});

test('a reader that gets a place reads on there when the file was put aside since', async () => {
  const { repository, say, putAside, read } = await scene();
  say('one', 'two');
  const first = openJournal(repository, thread);
  read(first);
  const place = first.place();
  first.close();
  say('three');
  putAside();
  const between = openJournal(repository, thread, place);
  expect(read(between)).toEqual(['three']);
  between.close();
  say('four');
  const second = openJournal(repository, thread, place);
  expect(read(second)).toEqual(['three', 'four']);
  expect(second.hasGap()).toBe(false);
  second.close();
});

test('a reader whose place is gone gives what is left, and tells of the gap once', async () => {
  const { repository, say, putAside, read, older } = await scene();
  say('one');
  const first = openJournal(repository, thread);
  read(first);
  const place = first.place();
  // Open until the end, so that no file gets its inode.
  putAside();
  say('lost');
  rmSync(older);
  putAside();
  say('left');
  rmSync(older);
  const second = openJournal(repository, thread, place);
  expect(read(second)).toEqual(['left']);
  expect(second.hasGap()).toBe(true);
  expect(read(second)).toEqual([]);
  expect(second.hasGap()).toBe(false);
  second.close();
  first.close();
});

test('a reader with a place of a journal that is gone tells of the gap', async () => {
  const { repository, say, read, current } = await scene();
  say('one');
  const first = openJournal(repository, thread);
  read(first);
  const place = first.place();
  rmSync(current);
  const second = openJournal(repository, thread, place);
  expect(read(second)).toEqual([]);
  expect(second.hasGap()).toBe(true);
  first.close();
  second.close();
});

test('a reader that was away while two files were put aside gives the one that is left, and tells of a gap', async () => {
  const { repository, say, putAside, read } = await scene();
  const reader = openJournal(repository, thread);
  say('one');
  expect(read(reader)).toEqual(['one']);
  say('two');
  putAside();
  say('three');
  putAside();
  say('four');
  expect(read(reader)).toEqual(['two', 'three', 'four']);
  expect(reader.hasGap()).toBe(true);
  say('five');
  expect(read(reader)).toEqual(['five']);
  expect(reader.hasGap()).toBe(false);
  reader.close();
});

test('a reader that opens no journal yet has no place, and reads the journal once it is there', async () => {
  const { repository, say, read } = await scene();
  const reader = openJournal(repository, thread);
  expect(read(reader)).toEqual([]);
  expect(reader.place()).toBeUndefined();
  say('one');
  expect(read(reader)).toEqual(['one']);
  expect(reader.place()?.offset).toBe(Buffer.byteLength(lineOf('one')));
  reader.close();
});

test('a line and a character that are cut between two reads are read whole, and no place is inside of them', async () => {
  const { repository, current, read } = await scene();
  const line = Buffer.from(lineOf('a € and \u{1F600}'));
  const [before, after] = [line.indexOf('€') + 1, line.indexOf('\u{1F600}') + 2];
  const first = openJournal(repository, thread);
  appendFileSync(current, lineOf('one'));
  const parts = [line.subarray(0, before), line.subarray(before, after), line.subarray(after)];
  const read1 = parts.map((part) => {
    appendFileSync(current, part);
    const texts = read(first);
    const second = openJournal(repository, thread, first.place());
    // What is not whole yet is not passed over by a place.
    const left = part === parts[2] ? [] : read(second);
    second.close();
    return [...texts, ...left];
  });
  expect(read1).toEqual([['one'], [], ['a € and \u{1F600}']]);
  first.close();
});

test('a line longer than one piece of reading, and what a crash tore off at the end, cost no other line', async () => {
  const { repository, current, say, read } = await scene();
  const long = 'é'.repeat(100_000);
  say('one', long);
  const torn = lineOf('torn').slice(0, -10);
  appendFileSync(current, torn);
  const reader = openJournal(repository, thread);
  expect(read(reader)).toEqual(['one', long]);
  // The next process appends behind it.
  say('lost with it', 'two');
  expect(read(reader)).toEqual(['two']);
  reader.close();
});

test('a place behind the end of a journal is its end', async () => {
  const { repository, current, say, read } = await scene();
  say('one', 'two');
  const first = openJournal(repository, thread);
  read(first);
  truncateSync(current, Buffer.byteLength(lineOf('one')));
  const second = openJournal(repository, thread, first.place());
  expect(read(second)).toEqual([]);
  say('three');
  expect(read(second)).toEqual(['three']);
  first.close();
  second.close();
});
