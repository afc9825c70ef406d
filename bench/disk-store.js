#!/usr/bin/env node
// What the disk store costs, beside git and beside loose objects, in interleaved rounds.
//
//   node bench/disk-store.js [--rounds N] [--folder DIR]
//
// --rounds N    how often each measurement runs (default 9); the table shows medians and ratios
// --folder DIR  where the repository is made (default: the system's temporary folder); on tmpfs the time is CPU alone
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { deflateSync } from 'node:zlib';
import { build } from 'esbuild';
import { median } from './interleave.js';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '9' }, folder: { type: 'string', default: tmpdir() } },
});
const root = mkdtempSync(join(values.folder, 'uwf-bench-'));
const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null' };
const git = (...args) => execFileSync('git', args, { cwd: root, env, encoding: 'utf8', maxBuffer: 2 ** 30 }).trim();
const gitDir = join(root, '.git');
const location = { gitDir, commonDir: gitDir, workTree: root };

try {
  const { openDiskStores } = await bundled('src/git/disk/open-disk-stores.ts');
  git('init', '--quiet', '.');
  print('a step of nine objects of 800 bytes, durable, without its ref', 'loose', await compareSteps(openDiskStores));
  print('10,000 blobs of 1 KiB read', 'git cat-file --batch', await compareReads(openDiskStores));
  print('100,000 packed refs listed', 'git for-each-ref', await compareLists(openDiskStores));
} finally {
  rmSync(root, { recursive: true, force: true });
}

async function compareSteps(openDiskStores) {
  const { objects } = openDiskStores(location);
  let step = 0;
  return measure({
    loose: () => writeLoose(stepObjects((step += 1))),
    'uwf (one small pack)': async () => (await objects.write(stepObjects((step += 1)))).release(),
  });
}

async function compareReads(openDiskStores) {
  const { objects } = openDiskStores(location);
  const blobs = Array.from({ length: 10_000 }, (_, number) => blob(number, 1024));
  await (await objects.write(blobs)).release();
  const ids = blobs.map(idOf);
  const input = `${ids.join('\n')}\n`;
  return measure({
    'git cat-file --batch': () =>
      spawnSync('git', ['cat-file', '--batch'], { cwd: root, env, input, maxBuffer: 2 ** 30 }),
    uwf: async () => {
      const fresh = openDiskStores(location);
      for (const id of ids) if ((await fresh.objects.read(id)) === undefined) throw new Error(`${id} is missing`);
      await fresh.close();
    },
  });
}

async function compareLists(openDiskStores) {
  const { objects, refs } = openDiskStores(location);
  const tree = { type: 'tree', data: Buffer.alloc(0) };
  const who = 'A U Thor <author@example.com> 1795262400 +0000';
  const text = `tree ${idOf(tree)}\nauthor ${who}\ncommitter ${who}\n\nx\n`;
  const commit = { type: 'commit', data: Buffer.from(text) };
  await (await objects.write([tree, commit])).release();
  const names = Array.from({ length: 100_000 }, (_, number) => `refs/threads/${String(number).padStart(26, '0')}`);
  spawnSync('git', ['update-ref', '--stdin'], {
    cwd: root,
    env,
    input: names.map((name) => `create ${name} ${idOf(commit)}\n`).join(''),
  });
  git('pack-refs', '--all', '--prune');
  return measure({
    'git for-each-ref': () => git('for-each-ref', '--format=%(refname) %(objectname)', 'refs/threads/'),
    uwf: async () => {
      if ((await refs.list('refs/threads/')).length !== names.length) throw new Error('some refs are missing');
    },
  });
}

/** A loose object written as durably as a pack is: temporary file, sync, rename, sync of the folder. */
function writeLoose(objects) {
  const folders = new Set();
  for (const object of objects) {
    const id = idOf(object);
    const folder = join(gitDir, 'objects', id.slice(0, 2));
    if (!existsSync(folder)) mkdirSync(folder);
    folders.add(folder);
    const temporary = join(folder, `tmp_obj_${id}`);
    const header = Buffer.from(`${object.type} ${object.data.length}\0`);
    const descriptor = openSync(temporary, 'wx', 0o444);
    writeSync(descriptor, deflateSync(Buffer.concat([header, object.data]), { level: 1 }));
    fsyncSync(descriptor);
    closeSync(descriptor);
    renameSync(temporary, join(folder, id.slice(2)));
  }
  for (const folder of folders) {
    const descriptor = openSync(folder, 'r');
    fsyncSync(descriptor);
    closeSync(descriptor);
  }
}

function stepObjects(step) {
  return Array.from({ length: 9 }, (_, number) => blob(1_000_000 + step * 10 + number, 800));
}

/** Text that compresses as prose does and is different every time. */
function blob(seed, bytes) {
  const words = [
    'the',
    'thread',
    'moves',
    'on',
    'when',
    'a',
    'role',
    'has',
    'answered',
    'and',
    'nothing',
    'is',
    'lost',
  ];
  let text = `${seed}\n`;
  for (let state = seed + 1; text.length < bytes; state = (state * 48_271) % 2_147_483_647) {
    text += `${words[state % words.length]}${state % 7 === 0 ? state : ''} `;
  }
  return { type: 'blob', data: Buffer.from(text.slice(0, bytes)) };
}

function idOf({ type, data }) {
  return createHash('sha1').update(`${type} ${data.length}\0`).update(data).digest('hex');
}

async function measure(candidates) {
  const times = Object.fromEntries(Object.keys(candidates).map((name) => [name, []]));
  for (let round = 0; round <= Number(values.rounds); round++) {
    for (const [name, run] of Object.entries(candidates)) {
      const start = performance.now();
      await run();
      // The first round warms up.
      if (round > 0) times[name].push(performance.now() - start);
    }
  }
  return times;
}

function print(what, base, times) {
  console.log(what);
  for (const [name, all] of Object.entries(times)) {
    const ratio = median(all) / median(times[base]);
    console.log(`  ${name.padEnd(24)} ${median(all).toFixed(2).padStart(9)} ms  ${ratio.toFixed(2)} times ${base}`);
  }
}

async function bundled(entry) {
  const outfile = join(root, 'bundle.mjs');
  const entryPoints = [join(import.meta.dirname, '..', entry)];
  await build({ entryPoints, outfile, bundle: true, platform: 'node', format: 'esm', logLevel: 'error' });
  return import(pathToFileURL(outfile).href);
}
