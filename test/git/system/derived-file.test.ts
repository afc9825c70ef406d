import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { readDerivedFile, readDerivedJson, writeDerivedFile } from '../../../src/git/system/files.ts';
import { isNumber, isString, objectOf } from '../../../src/shape.ts';
import { createTemporaryFolder } from '../../helpers/temporary-repository.ts';

const form = 'things 1';
let path: string;

beforeEach(() => {
  path = join(createTemporaryFolder(), 'deep', 'things.json');
});

test.each(['', 'a', 'two\nlines', 'Grüße, \ufffd and 🎈'])('what was written is read: %j', (content) => {
  writeDerivedFile(path, form, content);
  expect(readDerivedFile(path, form)).toBe(content);
});

test('no changed bit and no cut is read', () => {
  writeDerivedFile(path, form, '{"a": 1, "b": "\ufffdä"}');
  const sound = readFileSync(path);
  for (let bit = 0; bit < sound.length * 8; bit += 1) {
    const damaged = Buffer.from(sound);
    damaged[bit >> 3] = sound[bit >> 3]! ^ (1 << (bit & 7));
    writeFileSync(path, damaged);
    expect(readDerivedFile(path, form)).toBeUndefined();
  }
  for (let length = 0; length < sound.length; length += 1) {
    writeFileSync(path, sound.subarray(0, length));
    expect(readDerivedFile(path, form)).toBeUndefined();
  }
});

test('what was written for another file, or by another version, is not read', () => {
  writeDerivedFile(path, form, 'x');
  expect(readDerivedFile(path, 'things 2')).toBeUndefined();
  const other = `${path}.other`;
  writeFileSync(other, readFileSync(path));
  expect(readDerivedFile(other, form)).toBeUndefined();
});

test('a folder in the place of the file is none, and makes room', () => {
  mkdirSync(join(path, 'deep'), { recursive: true });
  expect(readDerivedFile(path, form)).toBeUndefined();
  writeDerivedFile(path, form, 'x');
  expect(readDerivedFile(path, form)).toBe('x');
});

test('what cannot be written leaves nothing behind', () => {
  mkdirSync(join(path, '..'), { recursive: true });
  mkdirSync(`${path}.tmp`);
  expect(() => writeDerivedFile(path, form, 'x')).toThrow('EISDIR');
  expect(existsSync(path)).toBe(false);
  // The next one can.
  writeDerivedFile(path, form, 'x');
  expect(readDerivedFile(path, form)).toBe('x');
});

test('JSON of another form is not read', () => {
  const isThing = objectOf<{ a: number; b?: string }>({ a: isNumber, b: { mayBe: isString } });
  const read = (content: string): unknown => {
    writeDerivedFile(path, form, content);
    return readDerivedJson(path, form, isThing);
  };
  expect(read('{"a":1}')).toEqual({ a: 1 });
  expect(read('{"a":1,"b":"c"}')).toEqual({ a: 1, b: 'c' });
  for (const wrong of ['', '{', '[]', 'null', '{"a":"1"}', '{"a":1,"b":2}', '{"b":"c"}']) {
    expect(read(wrong)).toBeUndefined();
  }
});
