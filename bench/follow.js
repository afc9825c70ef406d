// How far 'uwf thread read --follow' is behind an agent that works in another process: from the moment at which the agent
// says a word to the moment at which it comes out of the follower. Prints median and maximum in ms.
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const uwf = resolve(import.meta.dirname, '../bin/uwf.js');
const WORDS = 40;

const dir = mkdtempSync(join(tmpdir(), 'uwf-bench-'));
try {
  execFileSync('git', ['init', '--quiet', dir]);
  mkdirSync(join(dir, '.uwf/workflows'), { recursive: true });
  writeFileSync(
    join(dir, '.uwf/workflows/talk.yaml'),
    `name: talk
description: talks
roles: { a: { description: talks, schema: { properties: { $status: { const: done } }, required: [$status] } } }
graph: { $START: { new: { role: a, prompt: talk } }, a: { done: { role: $END, prompt: done } } }
`,
  );
  // The agent says the time.
  writeFileSync(
    join(dir, 'talk.mjs'),
    `for (let word = 0; word < ${WORDS}; word += 1) {
  console.log('said ' + Date.now());
  await new Promise((resolve) => setTimeout(resolve, 40 + 7 * (word % 10)));
}`,
  );
  const agents = {
    talk: {
      package: 'builtin:command',
      config: { argv: [process.execPath, 'talk.mjs'], statuses: { default: 'done' } },
    },
  };
  writeFileSync(join(dir, '.uwf/config.yaml'), JSON.stringify({ agents, defaultAgent: 'talk' }));

  const started = execFileSync(process.execPath, [uwf, 'thread', 'start', 'talk', '-p', 'x', '--json'], { cwd: dir });
  const { thread } = JSON.parse(started.toString());
  const run = spawn(process.execPath, [uwf, 'thread', 'run', thread], { cwd: dir, stdio: 'ignore' });
  const ended = new Promise((resolve_) => run.once('exit', resolve_));
  while (!leases(dir).includes(`${thread}.json`)) await sleep(10);
  const follower = spawn(process.execPath, [uwf, 'thread', 'read', thread, '--follow'], { cwd: dir });
  const openedMs = Date.now();
  const delays = [];
  for await (const data of follower.stdout) {
    const nowMs = Date.now();
    for (const [, saidMs] of String(data).matchAll(/^said (\d+)$/gm)) {
      // What was said before the follower was up came as late as that did.
      if (Number(saidMs) > openedMs + 500) delays.push(nowMs - Number(saidMs));
    }
  }
  await ended;
  delays.sort((a, b) => a - b);
  console.log(`${delays.length} words: median ${delays[delays.length >> 1]} ms, at most ${delays.at(-1)} ms behind`);
} finally {
  rmSync(dir, { recursive: true, force: true });
}

function leases(folder) {
  try {
    return readdirSync(join(folder, '.git/uwf/leases'));
  } catch {
    return [];
  }
}
