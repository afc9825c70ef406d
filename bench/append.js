#!/usr/bin/env node
// What it takes to append a step of six nodes of 1 KiB, durably: by uwf, and by isomorphic-git's plain calls for the same
// blobs, two trees, one commit and one ref, which sync nothing. Both in turn, in repositories of their own.
//
//   node bench/append.js [--steps N] [--fold N] [--folder DIR] [--json]
//
// --steps N     how many steps uwf appends (default 1000); isomorphic-git appends one for each ten
// --fold N      fold uwf's packs, outside the time measured, whenever there are N (default 50; 0: never)
// --folder DIR  where the repositories are made (default: the machine's folder for temporary files)
// --json        one JSON object on stdout
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { appenderSources, makeRepository, openAppender, prose, who } from './appender.js';
import { median } from './interleave.js';
import { loadSource } from './load-source.js';
import { quietEnvironment } from './quiet-environment.js';

/**
 * Measures appending.
 *
 * @returns medians of wall and CPU time in ms, the first and the last hundred apart, and the new files of each step
 */
export async function measureAppend({ steps = 1000, foldAt = 50, folder = tmpdir() } = {}) {
  const source = await loadSource(...appenderSources, 'src/git/native/consolidate-packs.ts');
  const own = await openOwn(source, makeRepository(folder), foldAt);
  const peer = await openPeer(makeRepository(folder));
  const ownSteps = [];
  const peerSteps = [];
  try {
    for (let number = 1; number <= steps; number += 1) {
      ownSteps.push(await own.append(number));
      if (number % 10 === 0) peerSteps.push(await peer.append(number));
    }
  } finally {
    await own.remove();
    await peer.remove();
  }
  // What V8 has not compiled yet is start-up, and has a benchmark of its own.
  const warm = ownSteps.slice(100);
  return {
    steps,
    uwf: summary(warm),
    'isomorphic-git': summary(peerSteps.slice(10)),
    wallRatio: middle(warm, 'wallMs') / middle(peerSteps.slice(10), 'wallMs'),
    firstHundred: summary(ownSteps.slice(100, 200)),
    lastHundred: summary(ownSteps.slice(-100)),
    newFiles: Math.max(...ownSteps.map(({ newFiles }) => newFiles)),
    mostPacks: Math.max(...ownSteps.map(({ packs }) => packs)),
  };
}

function middle(times, key) {
  return median(times.map((time) => time[key]));
}

function summary(times) {
  return { wallMs: middle(times, 'wallMs'), cpuMs: middle(times, 'cpuMs') };
}

async function timed(work) {
  const cpu = process.cpuUsage();
  const startedMs = performance.now();
  const value = await work();
  const wallMs = performance.now() - startedMs;
  const { user, system } = process.cpuUsage(cpu);
  return { wallMs, cpuMs: (user + system) / 1000, value };
}

async function openOwn(source, folder, foldAt) {
  const appender = await openAppender(source, folder);
  const { location } = appender.repository;
  return {
    async append(number) {
      const draft = appender.draft(number);
      const before = countFiles(folder);
      const { wallMs, cpuMs } = await timed(() => appender.append(draft));
      const newFiles = countFiles(folder) - before;
      const packs = source.countPacks(location);
      if (foldAt > 0 && packs >= foldAt) await source.consolidatePacks(location, quietEnvironment());
      return { wallMs, cpuMs, newFiles, packs };
    },
    async remove() {
      await appender.repository.close();
      fs.rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function openPeer(folder) {
  const { default: git } = await import('isomorphic-git');
  const dir = folder;
  const cache = {};
  let head = [];
  return {
    async append(number) {
      return timed(async () => {
        const entries = [];
        for (const which of [1, 2, 3, 4, 5, 6]) {
          const oid = await git.writeBlob({ fs, dir, blob: Buffer.from(prose(number, which)) });
          entries.push({ mode: '100644', path: `${which}.md`, oid, type: 'blob' });
        }
        const inner = await git.writeTree({ fs, dir, tree: entries.slice(3) });
        const tree = await git.writeTree({
          fs,
          dir,
          tree: [...entries.slice(0, 3), { mode: '040000', path: 'artifacts', oid: inner, type: 'tree' }],
        });
        const author = { ...who, timestamp: 1_795_262_400 + number, timezoneOffset: 0 };
        const commit = { message: `step ${number}\n`, tree, parent: head, author, committer: author };
        const oid = await git.writeCommit({ fs, dir, commit, cache });
        await git.writeRef({ fs, dir, ref: 'refs/threads/bench', value: oid, force: true });
        head = [oid];
      });
    },
    remove: async () => fs.rmSync(folder, { recursive: true, force: true }),
  };
}

function countFiles(folder) {
  const objects = fs.readdirSync(path.join(folder, '.git/objects/pack')).length;
  return objects + fs.readdirSync(path.join(folder, '.git/refs'), { recursive: true }).length;
}

function print(result) {
  const line = (name, { wallMs, cpuMs }) =>
    console.log(`${name.padEnd(28)} ${wallMs.toFixed(2).padStart(8)} ${cpuMs.toFixed(2).padStart(8)}`);
  console.log(
    `Node ${process.version}, ${result.steps} steps, medians in ms\n${'wall'.padStart(37)} ${'CPU'.padStart(8)}`,
  );
  line('uwf, durable', result.uwf);
  line('isomorphic-git, not synced', result['isomorphic-git']);
  line('uwf, steps 101 to 200', result.firstHundred);
  line('uwf, the last hundred', result.lastHundred);
  console.log(`uwf / isomorphic-git = ${result.wallRatio.toFixed(2)}`);
  console.log(`new files of a step: ${result.newFiles}; at most ${result.mostPacks} packs`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: {
      steps: { type: 'string', default: '1000' },
      fold: { type: 'string', default: '50' },
      folder: { type: 'string', default: tmpdir() },
      json: { type: 'boolean', default: false },
    },
  });
  const result = await measureAppend({
    steps: Number(values.steps),
    foldAt: Number(values.fold),
    folder: values.folder,
  });
  if (values.json) console.log(JSON.stringify(result));
  else print(result);
}
