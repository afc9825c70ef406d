import { spawnSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { packageRoot } from '../../src/git/system/process-identity.ts';
import { createTemporaryFolder, createTemporaryRepository } from '../helpers/temporary-repository.ts';
import { allCommands, createDamageScene, flip, reading, type DamageScene } from './damaged-files.ts';

const longMs = 20 * 60 * 1000;

let scene: DamageScene;

beforeAll(async () => {
  scene = await createDamageScene();
});

beforeEach(() => scene.mend());

const kinds = [/^lookup$/, /^corrupt\//, /^removed\//, /^sessions\//, /^journal\//, /^folding\.json$/];

describe.each(kinds)('of derived files %s', (kind) => {
  // A line of the journal has no checksum: what a word of it was nothing tells.
  test.skipIf(kind.source.includes('journal'))(
    '100 changed bits, one at a time, change no answer',
    async () => {
      const files = scene.files.filter((file) => kind.test(file));
      expect(files).not.toEqual([]);
      for (let number = 0; number < 100; number += 1) {
        const file = files[number % files.length] ?? '';
        scene.damage(file, flip(number));
        // In this process commands leave files open that the end of theirs would close: not all of them each time.
        const some = reading.filter((_, place) => (place + number) % 3 === 0);
        expect(await scene.differences(number % 20 === 0 ? allCommands : some)).toEqual([]);
        scene.mend();
      }
    },
    longMs,
  );

  test.each<[string, (sound: Buffer) => Buffer | 'folder']>([
    ['half of it', (sound) => sound.subarray(0, sound.length / 2)],
    ['nothing', () => Buffer.alloc(0)],
    ['zeros', (sound) => Buffer.alloc(sound.length)],
    ['a folder', () => 'folder'],
    ['JSON of another form', () => Buffer.from('{"version":3,"head":"1"}')],
  ])('%s in their place changes none', async (_, how) => {
    for (const file of scene.files.filter((name) => kind.test(name))) scene.damage(file, how);
    expect(await scene.differences(allCommands)).toEqual([]);
    expect(await scene.differences()).toEqual([]);
  });
});

test(
  '100 changed bits in what V8 compiled change no answer and end no process',
  () => {
    const { dir } = createTemporaryRepository();
    const copy = createTemporaryFolder();
    // The program's own folder is shared with other tests: a copy of it has caches of its own.
    cpSync(join(packageRoot(), 'bin'), join(copy, 'bin'), { recursive: true });
    const isProgram = (path: string): boolean => !path.includes('.code-cache');
    cpSync(join(packageRoot(), 'dist'), join(copy, 'dist'), { recursive: true, filter: isProgram });
    const start = (): object => {
      const words = [join(copy, 'bin/uwf.js'), 'thread', 'list', '--json'];
      const { status, signal, stdout } = spawnSync(process.execPath, words, { cwd: dir, encoding: 'utf8' });
      return { status, signal, stdout };
    };
    start();
    const folder = join(copy, 'dist/.code-cache');
    const expected = start();
    expect(expected).toMatchObject({ status: 0 });
    const [file = ''] = readdirSync(folder).map((name) => join(folder, name));
    const sound = readFileSync(file);
    for (let number = 0; number < 100; number += 1) {
      writeFileSync(file, flip(number)(sound));
      expect(start()).toEqual(expected);
    }
  },
  longMs,
);
