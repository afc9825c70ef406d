import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { decodeTime, isValid } from 'ulid';
import { describe, expect, test } from 'vitest';
import { parseObjectId } from '../../src/git/format/object-id.ts';
import { callIdFor, forkIdFor, newThreadId } from '../../src/thread/new-thread-id.ts';
import { parseThreadId, threadTimeMs } from '../../src/thread/thread-id.ts';

describe('thread ids', () => {
  test('a new id tells the time it was made at', () => {
    expect(threadTimeMs(newThreadId({ now: () => 1781219097830 }))).toBe(1781219097830);
  });

  test('ids made in one millisecond sort in the order they were made', () => {
    const clock = { now: () => 1781219097831 };
    const ids = Array.from({ length: 1000 }, () => newThreadId(clock));
    expect(ids.toSorted()).toEqual(ids);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('lower-case letters are read as upper-case ones', () => {
    const id = newThreadId({ now: () => 1781219097832 });
    expect(parseThreadId(id.toLowerCase())).toBe(id);
  });

  test.each([
    '',
    '01KTWEWZ76',
    '81KTWEWZ760000000000000000',
    '01KTWEWZ76000000000000000U',
    '../01KTWEWZ760000000000000',
  ])('%j is refused', (text) => {
    expect(() => parseThreadId(text)).toThrow(expect.objectContaining({ code: 'invalid-thread-id' }));
  });
});

test('the id of a child is the time of its caller and 80 bits of SHA-256 over its call, as the format says', () => {
  const call = {
    thread: parseThreadId('01KTWEWZ760000000000000000'),
    state: { commit: parseObjectId('0123456789abcdef0123456789abcdef01234567'), committedAtMs: 1_795_262_400_000 },
    role: 'developer',
    key: 'build 3F2V04Y8ZNQWE',
    ordinal: 2,
  };
  const text = `uwf-call\0${call.thread}\0${call.state.commit}\0developer\0build 3F2V04Y8ZNQWE\x002`;
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 20);
  let value = (BigInt(call.state.committedAtMs) << 80n) | BigInt(`0x${digest}`);
  let id = '';
  for (let place = 0; place < 26; place += 1) {
    id = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'.charAt(Number(value & 31n)) + id;
    value >>= 5n;
  }
  expect(callIdFor(call)).toBe(id);
  for (const other of [{ role: 'tester' }, { key: 'x' }, { ordinal: 0 }])
    expect(callIdFor({ ...call, ...other })).not.toBe(id);
});

describe('the id of a fork that keeps a lost race', () => {
  const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

  /** The definition read literally, with big integers: an independent second opinion. */
  function byDefinition(thread: string, tip: string, timeMs: number): string {
    const digest = createHash('sha256').update(`uwf-fork\0${thread}\0${tip}`).digest('hex').slice(0, 20);
    let value = (BigInt(timeMs) << 80n) | BigInt(`0x${digest}`);
    let text = '';
    for (let i = 0; i < 26; i += 1) {
      text = alphabet.charAt(Number(value & 31n)) + text;
      value >>= 5n;
    }
    return text;
  }

  test('it is the time and 80 bits of SHA-256, as the format says', () => {
    const hex = fc.string({ unit: fc.constantFrom(...'0123456789abcdef'.split('')), minLength: 40, maxLength: 40 });
    fc.assert(
      fc.property(hex, fc.integer({ min: 0, max: 2 ** 48 - 1 }), (tip, timeMs) => {
        const thread = parseThreadId('01KTWEWZ760000000000000000');
        const fork = forkIdFor(thread, parseObjectId(tip), timeMs);
        expect(fork).toBe(byDefinition(thread, tip, timeMs));
        expect(isValid(fork)).toBe(true);
        expect(decodeTime(fork)).toBe(timeMs);
      }),
    );
  });
});

test('a commit that is later than the id of a thread can hold gives no id, and is a fault of the data', () => {
  const thread = parseThreadId('01KTWEWZ760000000000000000');
  const commit = parseObjectId('0123456789abcdef0123456789abcdef01234567');
  const idAt = (committedAtMs: number): string =>
    callIdFor({ thread, state: { commit, committedAtMs }, role: 'developer', key: 'a', ordinal: 0 });
  expect(idAt(2 ** 48 - 1)).toMatch(/^7ZZZZZZZZZ/);
  for (const atMs of [2 ** 48, 9_000_000_000_000_000]) {
    expect(() => idAt(atMs)).toThrow(expect.objectContaining({ code: 'corrupt-thread' }));
    expect(() => forkIdFor(thread, commit, atMs)).toThrow(expect.objectContaining({ code: 'corrupt-thread' }));
  }
});
