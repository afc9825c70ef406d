import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { EOL, tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { packageRoot } from '../../src/git/system/process-identity.ts';

type Loader = { load(name: string): { say(): string }; keep(command: string): void };
type CreateLoader = (folder: string, argv: readonly string[], env: Readonly<Record<string, string>>) => Loader;

// CommonJS without types.
const { createLoader } = createRequire(import.meta.url)('../../bin/uwf.js') as {
  createLoader: CreateLoader;
};

const digest = '0123456789abcdef';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'uwf-loader-'));
});

afterEach(() => {
  chmodSync(folder, 0o755);
  rmSync(folder, { recursive: true, force: true });
});

function writeProgram(text: string, its = digest): void {
  writeFileSync(path.join(folder, 'one.cjs'), `/*${its}*/"use strict";exports.say = () => ${JSON.stringify(text)};\n`);
}

/** What one start of the program with these words says, and which caches there are then. */
function start(command: string, env: Readonly<Record<string, string>> = {}): { said: string; caches: string[] } {
  const loader = createLoader(folder, command.split(' '), env);
  const said = loader.load('one.cjs').say();
  loader.keep(command);
  return { said, caches: namesIn(path.join(folder, '.code-cache')) };
}

function namesIn(place: string): string[] {
  try {
    return readdirSync(place).toSorted();
  } catch {
    return [];
  }
}

test('what was compiled for a command is kept once, and used from then on', () => {
  writeProgram('hello');
  const first = start('thread show');
  expect(first).toEqual({
    said: 'hello',
    caches: [expect.stringContaining(`one.cjs-${digest}-thread-show-${process.version}-${process.arch}`)],
  });
  // Of a program of the same length V8 takes what it kept for its own: that is how the second start is seen to use it.
  writeProgram('HELLO');
  expect(start('thread show')).toEqual({ ...first, said: 'hello' });
  expect(start('log').said).toBe('HELLO');
});

test('a program that has changed is another program', () => {
  writeProgram('hello');
  start('log');
  writeProgram('HELLO', 'fedcba9876543210');
  expect(start('log')).toMatchObject({ said: 'HELLO', caches: [expect.anything(), expect.anything()] });
});

test('a start with other options for Node leaves the cache of the usual starts alone', () => {
  writeProgram('hello');
  const options = { NODE_OPTIONS: '--max-old-space-size=4096 --require /tmp/a.js' };
  const [own = ''] = start('log', options).caches;
  expect(own).toMatch(/--max-old-space-size=4096_--require__tmp_a\.js$/);
  const { caches } = start('log');
  expect(caches).toHaveLength(2);
  expect(start('log', options)).toEqual({ said: 'hello', caches });
});

test('a program takes a module of another, and a module of Node that it uses is loaded then', () => {
  writeFileSync(
    path.join(folder, 'two.cjs'),
    `/*${digest}*/exports.modules = { 'src/a.ts': () => ({ word: 'hello' }) };`,
  );
  const imports = `const a = require('./two.cjs#src/a.ts'), os = require('node:os'), fs = require('node:fs');`;
  const says = `[a.word, a === require('./two.cjs#src/a.ts'), Object.hasOwn(os, 'EOL'), os.EOL, fs.constants.O_RDONLY].join()`;
  writeFileSync(path.join(folder, 'one.cjs'), `/*${digest}*/${imports} exports.say = () => ${says};`);
  expect(start('log').said).toBe(`hello,true,false,${EOL},0`);
});

/** The only cache there is. */
function cacheFile(): string {
  const caches = path.join(folder, '.code-cache');
  return path.join(caches, namesIn(caches)[0] ?? '');
}

test.each<[string, (file: string, sound: Buffer) => void]>([
  ['holds nothing', (file) => writeFileSync(file, '')],
  ['holds no code', (file) => writeFileSync(file, 'x'.repeat(1001))],
  ['is cut off', (file, sound) => truncateSync(file, sound.length - 2)],
  ['has lost its copy', (file, sound) => writeFileSync(file, sound.subarray(0, sound.length / 2))],
  ['is a folder', (file) => (rmSync(file), mkdirSync(path.join(file, 'deep'), { recursive: true }))],
])('a cache that %s is made again', (_, damage) => {
  writeProgram('hello');
  start('log');
  const sound = readFileSync(cacheFile());
  damage(cacheFile(), sound);
  expect(start('log').said).toBe('hello');
  // V8 writes what it made in no fixed order.
  expect(readFileSync(cacheFile())).toHaveLength(sound.length);
});

test('V8 is never handed a cache in which a bit has changed', () => {
  writeProgram('hello');
  start('log');
  const file = cacheFile();
  const sound = readFileSync(file);
  for (let place = 0; place < 20; place += 1) {
    const damaged = Buffer.from(sound);
    const at = Math.floor((place / 20) * sound.length);
    damaged[at] = (damaged[at] ?? 0) ^ (1 << (place % 8));
    writeFileSync(file, damaged);
    expect(createLoader(folder, ['log'], {}).load('one.cjs').say()).toBe('hello');
    // What is handed to V8 stays.
    expect(existsSync(file)).toBe(false);
  }
});

test("where the program's folder takes none, it is kept in the cache folder of the user, or not at all", () => {
  writeProgram('hello');
  // A file in the place of the folder keeps root out as well.
  writeFileSync(path.join(folder, '.code-cache'), '');
  const home = path.join(folder, 'home');
  mkdirSync(home);
  expect(start('log').said).toBe('hello');
  expect(start('log', { XDG_CACHE_HOME: home }).said).toBe('hello');
  expect(namesIn(path.join(home, 'uwf', 'code-cache'))).toHaveLength(1);
});

test('what other versions have left goes in time', () => {
  writeProgram('hello');
  const [old = ''] = start('log').caches;
  writeProgram('HELLO', 'fedcba9876543210');
  expect(start('log').caches).toHaveLength(2);
  utimesSync(path.join(folder, '.code-cache', old), 1, 1);
  const { caches } = start('thread show');
  expect(caches).toHaveLength(2);
  expect(caches).not.toContain(old);
});

test("a cache folder that is named relative to the current folder is not the user's", () => {
  writeProgram('hello');
  writeFileSync(path.join(folder, '.code-cache'), '');
  const home = path.join(folder, 'home');
  mkdirSync(home);
  expect(start('log', { XDG_CACHE_HOME: path.relative(process.cwd(), home) }).said).toBe('hello');
  expect(namesIn(home)).toEqual([]);
});

test('what could not be written to its end is taken away', () => {
  writeProgram('hello');
  const [name = ''] = start('log').caches;
  const caches = path.join(folder, '.code-cache');
  rmSync(path.join(caches, name));
  // In the way, as on a full disk.
  writeFileSync(path.join(caches, `${name}.${process.pid}.tmp`), 'half');
  expect(start('log')).toEqual({ said: 'hello', caches: [] });
  expect(start('log')).toEqual({ said: 'hello', caches: [name] });
});

test('every program that the build gives a digest is ASCII, its regular expressions too', () => {
  const dist = path.join(packageRoot(), 'dist');
  const programs = readdirSync(dist, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.cjs'))
    .map((name) => ({ name, source: readFileSync(path.join(dist, name), 'utf8') }))
    .filter(({ source }) => source.startsWith('/*'));
  expect(programs.map(({ name }) => name)).toContain('cli.cjs');
  expect(programs.filter(({ source }) => /[\u0080-\uffff]/.test(source)).map(({ name }) => name)).toEqual([]);
});

test('a program without a digest is loaded as any other module', () => {
  writeFileSync(path.join(folder, 'one.cjs'), 'exports.say = () => "plain";\n');
  expect(start('log')).toEqual({ said: 'plain', caches: [] });
});

test('programs take others of their folder through the loader', () => {
  writeProgram('hello');
  writeFileSync(path.join(folder, 'two.cjs'), `/*${digest}*/exports.say = () => require('./one.cjs').say() + '!';\n`);
  const loader = createLoader(folder, ['log'], {});
  expect(loader.load('two.cjs').say()).toBe('hello!');
  loader.keep('log');
  expect(namesIn(path.join(folder, '.code-cache'))).toHaveLength(2);
});

test('only of what went well is kept what was compiled', () => {
  cpSync(path.join(packageRoot(), 'bin'), path.join(folder, 'bin'), { recursive: true });
  mkdirSync(path.join(folder, 'dist'));
  const program = "exports.main = async ([code]) => Number(code); exports.commandNameOf = () => 'log';";
  const told = 'exports.isAllWritten = () => true; exports.hasOtherFlags = () => process.env.FLAGS !== undefined;';
  writeFileSync(path.join(folder, 'dist/cli.cjs'), `/*${digest}*/${program} ${told}\n`);
  const run = (code: string, env = {}): { status: number | null; caches: number } => {
    const { status } = spawnSync(process.execPath, [path.join(folder, 'bin/uwf.js'), code], { env });
    return { status, caches: namesIn(path.join(folder, 'dist/.code-cache')).length };
  };
  expect(run('2')).toEqual({ status: 2, caches: 0 });
  // V8 would refuse it.
  expect(run('0', { FLAGS: 'other' })).toEqual({ status: 0, caches: 0 });
  expect(run('0')).toEqual({ status: 0, caches: 1 });
});
