import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { loadSource } from './lib/load-source.js';
import { prose } from './lib/long-thread.js';
import { quietEnvironment } from './lib/quiet-environment.js';
import { command } from './lib/run-command.js';
import { temporaryFolder } from './lib/temporary-folder.js';

/** The store alone, without threads: the reason why a step is one small pack. */
export const diskStore = {
  name: 'disk-store',
  summary: 'objects written and read, and refs listed, beside loose objects and git',

  async *compare({ quick, rounds = quick ? 5 : 15, folder }) {
    const { path: root, remove } = temporaryFolder(folder);
    const options = { cwd: root, env: quietEnvironment() };
    const gitDir = join(root, '.git');
    const location = { gitDir, commonDir: gitDir, workTree: root };
    try {
      const { openDiskStores } = await loadSource('src/git/stores/disk/open-disk-stores.ts');
      execFileSync('git', ['init', '--quiet', '.'], options);
      const stores = openDiskStores(location);
      yield steps(stores, gitDir, rounds * 3);
      yield await reads(() => openDiskStores(location), options, quick ? 2000 : 10_000, rounds);
      yield await refs(stores, options, quick ? 10_000 : 100_000, rounds);
      await stores.close();
    } finally {
      remove();
    }
  },
};

function steps({ objects }, gitDir, rounds) {
  let step = 0;
  return {
    what: 'a step of nine objects of 800 bytes, durable, without its ref',
    base: 'loose',
    rounds,
    inProcess: true,
    contestants: {
      loose: () => writeLoose(gitDir, stepObjects((step += 1))),
      'uwf (one small pack)': async () => (await objects.write(stepObjects((step += 1)))).release(),
    },
  };
}

async function reads(open, options, count, rounds) {
  const base = 'git cat-file --batch';
  const blobs = Array.from({ length: count }, (_, number) => blob(number, 1024));
  const writer = open();
  await (await writer.objects.write(blobs)).release();
  await writer.close();
  const ids = blobs.map(idOf);
  return {
    what: `${count} blobs of 1 KiB read`,
    base,
    rounds,
    contestants: {
      [base]: command(['git', 'cat-file', '--batch'], { ...options, input: `${ids.join('\n')}\n` }),
      uwf: async () => {
        const fresh = open();
        for (const id of ids) if ((await fresh.objects.read(id)) === undefined) throw new Error(`${id} is missing`);
        await fresh.close();
      },
    },
  };
}

async function refs({ objects, refs: refStore }, options, count, rounds) {
  const base = 'git for-each-ref';
  const tree = { type: 'tree', data: Buffer.alloc(0) };
  const who = 'A U Thor <author@example.com> 1795262400 +0000';
  const text = `tree ${idOf(tree)}\nauthor ${who}\ncommitter ${who}\n\nx\n`;
  const commit = { type: 'commit', data: Buffer.from(text) };
  await (await objects.write([tree, commit])).release();
  const names = Array.from({ length: count }, (_, number) => `refs/threads/${String(number).padStart(26, '0')}`);
  const input = names.map((name) => `create ${name} ${idOf(commit)}\n`).join('');
  spawnSync('git', ['update-ref', '--stdin'], { ...options, input });
  execFileSync('git', ['pack-refs', '--all', '--prune'], options);
  return {
    what: `${count} packed refs listed`,
    base,
    rounds,
    contestants: {
      [base]: command(['git', 'for-each-ref', '--format=%(refname) %(objectname)', 'refs/threads/'], options),
      uwf: async () => {
        if ((await refStore.list('refs/threads/')).length !== count) throw new Error('some refs are missing');
      },
    },
  };
}

/** Writes a loose object as durably as a pack: temporary file, sync, rename, sync of the folder. */
function writeLoose(gitDir, objects) {
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

function blob(seed, bytes) {
  return { type: 'blob', data: Buffer.from(prose(seed, bytes)) };
}

function idOf({ type, data }) {
  return createHash('sha1').update(`${type} ${data.length}\0`).update(data).digest('hex');
}
