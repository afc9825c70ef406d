import fs, { appendFileSync, constants, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { FileRefused, READ, readRegularFile } from '../../../src/git/system/files.ts';
import { createTemporaryFolder } from '../../helpers/temporary-repository.ts';

const MAX_BYTES = 300_000;
let path: string;

beforeEach(() => {
  path = join(createTemporaryFolder(), 'file');
});

/** Does something else before each read of a file, and counts the reads. */
function beforeEachRead(work: (count: number) => void): void {
  const original = fs.readSync;
  let count = 0;
  const counted = (...args: unknown[]): number => {
    work((count += 1));
    return Reflect.apply(original, fs, args) as number;
  };
  fs.readSync = counted;
  syncBuiltinESMExports();
  onTestFinished(() => {
    fs.readSync = original;
    syncBuiltinESMExports();
  });
}

describe('a file', () => {
  test.each([0, 1, 65_535, 65_536, 65_537, 200_000, MAX_BYTES])('of %i bytes is read as a whole', (bytes) => {
    const content = Buffer.alloc(bytes, 'text ');
    writeFileSync(path, content);
    expect(readRegularFile(path, MAX_BYTES).equals(content)).toBe(true);
  });

  test('is read with one call', () => {
    writeFileSync(path, 'ref: refs/heads/main\n');
    let reads = 0;
    beforeEachRead((count) => (reads = count));
    expect(readRegularFile(path, MAX_BYTES).toString()).toBe('ref: refs/heads/main\n');
    expect(reads).toBe(1);
  });

  test('that grows while it is read is read to its end', () => {
    writeFileSync(path, 'a');
    beforeEachRead((count) => count <= 3 && appendFileSync(path, 'b'.repeat(70_000)));
    expect(readRegularFile(path, MAX_BYTES)).toHaveLength(210_001);
  });

  test.runIf(process.platform === 'linux')('that is made while it is read has no size, and is read to its end', () => {
    expect(readRegularFile('/proc/self/status', MAX_BYTES).toString()).toMatch(/^Name:[^]*\nVmRSS:[^]*\n$/);
  });

  test('that is larger than allowed is refused, also if it becomes so', () => {
    writeFileSync(path, Buffer.alloc(MAX_BYTES + 1));
    expect(() => readRegularFile(path, MAX_BYTES)).toThrow(`has more than ${MAX_BYTES} bytes`);
    writeFileSync(path, 'a');
    beforeEachRead(() => appendFileSync(path, Buffer.alloc(200_000)));
    expect(() => readRegularFile(path, MAX_BYTES)).toThrow(FileRefused);
  });

  test('that is a folder or, where that is forbidden, a link is not read', () => {
    mkdirSync(path);
    expect(() => readRegularFile(path, MAX_BYTES)).toThrow('EISDIR');
    symlinkSync(path, `${path}.link`);
    expect(() => readRegularFile(`${path}.link`, MAX_BYTES, READ | constants.O_NOFOLLOW)).toThrow('is a link');
  });
});
