import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { quietEnvironment } from './lib/quiet-environment.js';
import { uwf } from './lib/run-command.js';
import { temporaryFolder } from './lib/temporary-folder.js';

const words = 40;

/** The delay of a followed run. */
export const follow = {
  name: 'follow',
  summary: "how far 'uwf thread read --follow' is behind an agent that works in another process",
  isSlow: true,

  async *compare({ folder }) {
    const { path: dir, remove } = temporaryFolder(folder);
    try {
      const delays = await followAgent(dir);
      yield {
        what: 'from the moment at which the agent says a word to the moment at which it comes out of the follower',
        base: 'uwf thread read --follow',
        rounds: delays.length - 1,
        contestants: {
          'uwf thread read --follow': (round) => ({ tookMs: delays[round], slowest: Math.max(...delays) }),
        },
      };
    } finally {
      remove();
    }
  },
};

/** Lets an agent report the time repeatedly. @returns the delay of each report, in ms */
async function followAgent(dir) {
  const options = { cwd: dir, env: quietEnvironment() };
  execFileSync('git', ['init', '--quiet'], options);
  mkdirSync(join(dir, '.uwf/workflows'), { recursive: true });
  writeFileSync(
    join(dir, '.uwf/workflows/talk.yaml'),
    `name: talk
description: talks
roles: { a: { description: talks, schema: { properties: { $status: { const: done } }, required: [$status] } } }
graph: { $START: { new: { role: a, prompt: talk } }, a: { done: { role: $END, prompt: done } } }
`,
  );
  writeFileSync(
    join(dir, 'talk.mjs'),
    `for (let word = 0; word < ${words}; word += 1) {
  console.log('said ' + Date.now());
  await new Promise((resolve) => setTimeout(resolve, 40 + 7 * (word % 10)));
}`,
  );
  const config = { argv: [process.execPath, 'talk.mjs'], statuses: { default: 'done' } };
  const agents = { talk: { package: 'builtin:command', config } };
  writeFileSync(join(dir, '.uwf/config.yaml'), JSON.stringify({ agents, defaultAgent: 'talk' }));

  const started = execFileSync(process.execPath, [uwf, 'thread', 'start', 'talk', '-p', 'x', '--json'], {
    ...options,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const { thread } = JSON.parse(started.toString());
  const run = spawn(process.execPath, [uwf, 'thread', 'run', thread], { ...options, stdio: 'ignore' });
  const ended = new Promise((resolve) => run.once('exit', resolve));
  while (!leases(dir).includes(`${thread}.json`)) await sleep(10);
  const follower = spawn(process.execPath, [uwf, 'thread', 'read', thread, '--follow'], options);
  const openedMs = Date.now();
  const delays = [];
  for await (const data of follower.stdout) {
    const nowMs = Date.now();
    for (const [, saidMs] of String(data).matchAll(/^said (\d+)$/gm)) {
      // Reports from before the start of the follower were delayed by that start.
      if (Number(saidMs) > openedMs + 500) delays.push(nowMs - Number(saidMs));
    }
  }
  await ended;
  if (delays.length < 2) throw new Error('the agent was over before the follower was up');
  return delays;
}

function leases(folder) {
  try {
    return readdirSync(join(folder, '.git/uwf/leases'));
  } catch {
    return [];
  }
}
