#!/usr/bin/env node
// What a long run does to the repository it lives in: how long `git log -1` and `git status` take while steps are
// appended and folded in the background, beside what they took before; how many packs there are; what it takes on disk.
//
//   node bench/folding.js [--steps N] [--pause MS] [--gc] [--json]
//
// --steps N   how many steps (default 1000)
// --pause MS  how long an agent would have worked on each (default 30)
// --gc        runs `git gc` in a loop beside it, as a user might
// --json      one JSON object on stdout
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { appenderSources, makeRepository, openAppender, prose, who } from './appender.js';
import { median } from './interleave.js';
import { loadSource } from './load-source.js';
import { quietEnvironment } from './quiet-environment.js';

const files = 200;

/** Measures a run; see above. Times are medians in ms; `worst` compares the slowest stretch of 100 steps. */
export async function measureFolding({ steps = 1000, pauseMs = 30, withGc = false } = {}) {
  const source = await loadSource(...appenderSources, 'src/git/native/fold-in-background.ts');
  const folder = makeRepository(tmpdir());
  const env = {
    ...quietEnvironment(),
    GIT_AUTHOR_NAME: who.name,
    GIT_AUTHOR_EMAIL: who.email,
    GIT_COMMITTER_NAME: who.name,
    GIT_COMMITTER_EMAIL: who.email,
  };
  const git = (...args) => execFileSync('git', args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  for (let number = 0; number < files; number += 1) writeFileSync(path.join(folder, `${number}.md`), prose(number, 0));
  git('add', '-A');
  git('commit', '-qm', 'files');
  git('gc', '-q');
  const look = () => ({ logMs: timeOf(git, 'log', '-1'), statusMs: timeOf(git, 'status', '--porcelain') });
  const bytesBefore = bytesIn(path.join(folder, '.git/objects'));
  const before = Array.from({ length: 40 }, look);
  const collector = withGc ? loopGc(folder, env) : undefined;
  try {
    const { repository, draft, append } = await openAppender(source, folder);
    const looks = [];
    let mostPacks = 0;
    for (let number = 1; number <= steps; number += 1) {
      await append(draft(number));
      source.foldInBackground(repository.location, repository.stateDir, env);
      await sleep(pauseMs);
      mostPacks = Math.max(mostPacks, packsIn(folder));
      if (number % 5 === 0) looks.push(look());
    }
    await repository.close();
    const gcFailures = await collector?.stop();
    // The last folding goes on in its own process.
    while (spawnSync('git', ['repack', '--geometric=2', '-dq'], { cwd: folder, env }).status !== 0) await sleep(200);
    git('fsck', '--strict', '--no-dangling');
    return {
      steps,
      mostPacks,
      bytes: bytesIn(path.join(folder, '.git/objects')) - bytesBefore,
      before: middles(before),
      during: middles(looks),
      worst: worst(looks, middles(before)),
      ...(gcFailures !== undefined && { gcFailures }),
    };
  } finally {
    await collector?.stop();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

function timeOf(git, ...args) {
  const startedMs = performance.now();
  git(...args);
  return performance.now() - startedMs;
}

function middles(looks) {
  return { logMs: median(looks.map(({ logMs }) => logMs)), statusMs: median(looks.map(({ statusMs }) => statusMs)) };
}

/** How many times as long the slowest stretch takes: medians of 20 looks each, so that no hiccup counts. */
function worst(looks, before) {
  const stretches = Array.from({ length: Math.floor(looks.length / 20) }, (_, at) => {
    return middles(looks.slice(at * 20, at * 20 + 20));
  });
  return {
    log: Math.max(...stretches.map(({ logMs }) => logMs)) / before.logMs,
    status: Math.max(...stretches.map(({ statusMs }) => statusMs)) / before.statusMs,
  };
}

function packsIn(folder) {
  return readdirSync(path.join(folder, '.git/objects/pack')).filter((name) => name.endsWith('.idx')).length;
}

function bytesIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => {
      return sum + (statSync(path.join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.size ?? 0);
    }, 0);
}

/** Runs `git gc` again and again. @returns how to stop it, which gives how often it failed */
function loopGc(folder, env) {
  const stopping = new AbortController();
  let failures = 0;
  const ended = (async () => {
    while (!stopping.signal.aborted) {
      const child = spawn('git', ['gc', '--quiet'], { cwd: folder, env, stdio: 'ignore' });
      const code = await new Promise((resolve) => child.once('close', resolve));
      if (code !== 0) failures += 1;
      await sleep(100);
    }
  })();
  return {
    async stop() {
      stopping.abort();
      await ended;
      return failures;
    },
  };
}

function print(result) {
  const { before, during, worst: most } = result;
  const row = (name, first, second, ratio) =>
    console.log(
      `${name.padEnd(12)} ${first.toFixed(1).padStart(8)} ${second.toFixed(1).padStart(8)} ${ratio.toFixed(2).padStart(8)}`,
    );
  console.log(
    `${result.steps} steps, medians in ms\n${'before'.padStart(21)} ${'during'.padStart(8)} ${'worst x'.padStart(8)}`,
  );
  row('git log -1', before.logMs, during.logMs, most.log);
  row('git status', before.statusMs, during.statusMs, most.status);
  console.log(`at most ${result.mostPacks} packs; ${(result.bytes / 1e6).toFixed(2)} MB after folding`);
  if (result.gcFailures !== undefined) console.log(`git gc failed ${result.gcFailures} times`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: {
      steps: { type: 'string', default: '1000' },
      pause: { type: 'string', default: '30' },
      gc: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  });
  const result = await measureFolding({
    steps: Number(values.steps),
    pauseMs: Number(values.pause),
    withGc: values.gc,
  });
  if (values.json) console.log(JSON.stringify(result));
  else print(result);
}
