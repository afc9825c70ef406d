import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import type { Config } from '../../../src/engine/config/config.ts';
import { readingContext } from '../../../src/engine/engine-context.ts';
import { createEngine, type Engine } from '../../../src/engine/engine.ts';
import { usageOfLeft } from '../../../src/engine/limits/allowance.ts';
import { openUsage } from '../../../src/engine/recovery/turn-log.ts';
import type { Repository } from '../../../src/git/repository.ts';
import { addUsage } from '../../../src/schema/built-in/schema-parts.ts';
import { syncThreads } from '../../../src/sync/push-threads.ts';
import { findCalledNow, findCalledSince } from '../../../src/thread/find-children.ts';
import { getThread } from '../../../src/thread/find-thread.ts';
import { readState, type ThreadState, usageInAll } from '../../../src/thread/thread-state.ts';
import type { ThreadId } from '../../../src/thread/thread-id.ts';
import { validateWorkflow } from '../../../src/workflow/check/validate-workflow.ts';
import type { WorkflowDefinition } from '../../../src/workflow/definition.ts';
import { DirectRemote } from '../../helpers/direct-remote.ts';
import { installAgent } from '../../helpers/install-agent.ts';
import { createMapRepository } from '../../helpers/map-repository.ts';
import { createTemporaryFolder } from '../../helpers/temporary-repository.ts';
import { createDice, type Dice } from '../../verify/grow-thread.ts';
import { createFixture, expectSound, statuses, workflow, type EngineFixture } from '../engine-fixture.ts';
import { rulesOf } from '../../helpers/plot.ts';

/** How many trees of threads are run. */
const TREES = Number(process.env['BUDGET_TREES'] ?? 6);
const SEED = Number(process.env['BUDGET_SEED'] ?? 1);

/**
 * An agent that spends some cents in each try and writes them down, with what the whole tree may use and has used before. It ends well, is
 * not acceptable, asks a person, or goes on until it is stopped.
 */
const source = `
const { appendFileSync, existsSync, readFileSync } = require('node:fs');
exports.packageDescriptor = { name: 'spending-agent', version: '1.0.0', capabilities: [], configSchema: { type: 'object' } };
let state = undefined;
const dice = (seed, below) => {
  state = (Math.imul(state ?? seed, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
};
exports.createAgent = ({ ledger, allowed, calm, seed }) => ({
  async run(request) {
    const before = existsSync(ledger) ? readFileSync(ledger, 'utf8').split('\\n').filter(Boolean) : [];
    const spent = before.reduce((sum, line) => sum + JSON.parse(line).cents, 0);
    const cents = 1 + dice(seed, 40);
    const limit = Number(readFileSync(allowed, 'utf8'));
    appendFileSync(ledger, JSON.stringify({ cents, spent, limit, role: request.role }) + '\\n');
    const usage = { inputTokens: 10, outputTokens: 1, turns: 1, costUsd: cents / 100 };
    request.emit({ kind: 'usage', usage });
    const what = existsSync(calm) ? 9 : dice(seed, 12);
    if (what === 0) {
      await new Promise((resolve) => request.signal.addEventListener('abort', resolve, { once: true }));
      throw request.signal.reason;
    }
    if (what === 1) return { kind: 'reply', text: 'No front matter.', usage };
    if (what === 2) return { kind: 'suspend', cause: 'agent', reason: 'what now?', usage };
    return { kind: 'reply', text: 'Done.', meta: { $status: what === 3 ? 'bad' : 'good' }, usage };
  },
});
`;

const good = statuses('good', 'bad');

/** A workflow of one role that takes up to two turns. */
const leaf = workflow('leaf', { worker: good }, [
  'worker',
  { from: 'worker', to: 'worker', when: "$visits('worker') < 2 and $steps[-1].status = 'good'" },
  'worker > end',
]);

/** One whose role calls it, and has a turn of its own. */
const middle = workflow('middle', { worker: good, 'calls-leaf': { type: 'object' } }, 'calls-leaf > worker > end');

async function rootOf(dice: Dice, maxCostUsd: number): Promise<WorkflowDefinition> {
  const branch = { workflow: dice(2) === 0 ? 'leaf' : 'middle', prompt: 'Do {{ key }}.' };
  const { definition, diagnostics } = await validateWorkflow({
    name: 'root',
    limits: { maxCostUsd },
    roles: { worker: { schema: good }, 'calls-middle': { schema: {} } },
    blocks: {
      fan: {
        isolation: 'shared',
        join: ['all', 'any', { atLeast: 2 }][dice(3)] as 'all',
        each: { over: '[1..3]', as: 'n', key: '$string(n)', atOnce: 1, ...branch },
      },
    },
    moderator: rulesOf([
      'worker',
      { from: 'worker', to: '__end__', when: "$visits('worker') > 30" },
      { from: 'worker', to: 'fan', when: '$count($steps) % 2 = 1', prompt: 'All of it.' },
      'worker > calls-middle',
      'fan > worker',
      'calls-middle > worker',
    ]),
  });
  if (definition === undefined) throw new Error(JSON.stringify(diagnostics));
  return definition;
}

/** Two clones with an engine each, and what the agents of both have spent. */
type Trees = { clones: [EngineFixture, EngineFixture]; ledger: string; allowed: string; calm: string; config: Config };

async function createTrees(seed: number): Promise<Trees> {
  const folder = createTemporaryFolder();
  const [ledger, allowed, calm] = ['ledger', 'allowed', 'calm'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const spender = { name: 'spender', package: 'spending-agent', config: { ledger, allowed, calm, seed } };
  const calls = (name: string): Config['agents'][string] => ({
    name,
    package: 'builtin:workflow',
    config: { workflow: name },
  });
  const config: Config = {
    agents: { spender, leaf: calls('leaf'), middle: calls('middle') },
    defaultAgent: 'spender',
    roles: { 'calls-leaf': 'leaf', 'calls-middle': 'middle' },
  };
  const known = [leaf, middle];
  const resolveWorkflow = async (name: string): Promise<WorkflowDefinition> =>
    known.find((each) => each.name === name) ?? Promise.reject(new Error(`no ${name}`));
  const clones = [await createFixture(config, { resolveWorkflow }), await createFixture(config, { resolveWorkflow })];
  for (const { dir } of clones) installAgent(dir, 'spending-agent', source);
  return { clones: clones as Trees['clones'], ledger, allowed, calm, config };
}

function spentIn({ ledger }: Trees): { cents: number; spent: number; limit: number }[] {
  const lines = readFileSync(ledger, 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line) as { cents: number; spent: number; limit: number });
}

const centsOf = (lines: readonly { cents: number }[]): number => lines.reduce((sum, { cents }) => sum + cents, 0);

async function stateOf(repository: Repository, thread: ThreadId): Promise<ThreadState> {
  return readState(repository, thread, (await getThread(repository, thread)).head);
}

/** What a thread has used with all that it called, turns that are not over included, in cents. */
async function countedBy(repository: Repository, thread: ThreadId): Promise<number> {
  const state = await stateOf(repository, thread);
  let usage = usageInAll(state.tally);
  for (const used of (await openUsage(repository, thread)).values()) usage = addUsage(usage, used);
  if (state.head.kind !== 'end') {
    const open = await usageOfLeft(repository, state, await findCalledSince(repository, state));
    for (const used of Object.values(open ?? {})) usage = addUsage(usage, used);
  }
  return Math.round((usage?.costUsd ?? 0) * 100);
}

/** Runs a verb until it comes to rest by itself, or is stopped because an agent does not end. */
async function untilAtRest(
  trees: Trees,
  clone: EngineFixture,
  verb: (engine: Engine) => Promise<unknown>,
): Promise<void> {
  const stop = new AbortController();
  const { repository } = clone;
  const known = [leaf, middle];
  const engine = createEngine({
    repository,
    config: trees.config,
    env: { PATH: process.env['PATH'] },
    signal: stop.signal,
    resolveWorkflow: async (name) =>
      known.find((each) => each.name === name) ?? Promise.reject(new Error(`no ${name}`)),
  });
  let lines = -1;
  const watch = setInterval(() => {
    const now = spentIn(trees).length;
    if (now === lines) stop.abort(new Error('^C'));
    lines = now;
  }, 700);
  await verb(engine).catch(() => undefined);
  clearInterval(watch);
}

async function hasOpenTurns({ repository }: EngineFixture, thread: ThreadId): Promise<boolean> {
  const state = await stateOf(repository, thread);
  if ((await openUsage(repository, thread)).size > 0) return true;
  for (const { pointer } of await findCalledNow(repository, state, thread)) {
    if (!pointer.isHistory && (await hasOpenTurns({ repository } as EngineFixture, pointer.id))) return true;
  }
  return false;
}

vi.setConfig({ testTimeout: 3_600_000 });

test.each(Array.from({ length: TREES }, (_, tree) => SEED * 1000 + tree))(
  'a budget holds to the cent, tree %i',
  async (seed) => {
    const dice = createDice(seed);
    const trees = await createTrees(seed);
    const hub = createMapRepository();
    const budget = 50 + dice(200);
    let cents = budget;
    const added = new Map<ThreadId, number>();
    writeFileSync(trees.allowed, String(cents));
    writeFileSync(trees.ledger, '');
    const definition = await rootOf(dice, cents / 100);
    const [first] = trees.clones;
    const { thread } = await first.engine.start({ definition, prompt: 'Go.' });
    let [here, there] = trees.clones;
    // What was spent in forks: by a step that was to be done again, and waits.
    let elsewhere = 0;
    for (let move = 0; move < 14; move += 1) {
      const earlier = spentIn(trees).length;
      const { head } = await stateOf(here.repository, thread);
      const what = dice(10);
      let fork: ThreadId | undefined;
      if (head.kind === 'step' && what < 3) {
        await untilAtRest(trees, here, async (engine) => {
          const poked = await engine.poke(thread, 'Once more.');
          if (poked.thread !== thread) fork = poked.thread;
        });
      } else if (what < 5) {
        const asked = 40 + dice(100);
        writeFileSync(trees.allowed, String(cents + asked));
        await untilAtRest(trees, here, (engine) => engine.resume(thread, { more: { maxCostUsd: asked / 100 } }));
        // Only what is stored counts, of the thread or of a child that asked.
        cents = budget + (await addedTo(here.repository, thread, added));
        writeFileSync(trees.allowed, String(cents));
      } else if (what < 7) await untilAtRest(trees, here, (engine) => engine.step(thread));
      else
        await untilAtRest(trees, here, (engine) =>
          head.kind === 'suspend' ? engine.resume(thread, { answer: 'Go on.' }) : engine.run(thread),
        );
      // One turn at a time: none begins when the budget is used up.
      for (const line of spentIn(trees).slice(earlier)) expect(line.spent - elsewhere).toBeLessThan(line.limit);
      const spent = centsOf(spentIn(trees));
      if (fork !== undefined && head.kind === 'step') {
        const shared = Math.round((usageInAll(head.node.totals)?.costUsd ?? 0) * 100);
        elsewhere += (await countedBy(here.repository, fork)) - shared;
      }
      expect(await countedBy(here.repository, thread)).toBe(spent - elsewhere);
      if (await hasOpenTurns(here, thread)) continue;
      for (const clone of [here, there]) {
        await syncThreads(readingContext(clone.repository), new DirectRemote(clone.repository, hub));
      }
      expect(await countedBy(there.repository, thread)).toBe(spent - elsewhere);
      if (dice(2) === 0) [here, there] = [there, here];
    }
    await expectSound(here);
  },
);

/** How much people have added to the budgets of a thread and of all that it called, in cents. @param added what is known of each */
async function addedTo(repository: Repository, thread: ThreadId, added: Map<ThreadId, number>): Promise<number> {
  const state = await stateOf(repository, thread);
  added.set(thread, Math.round((state.tally.more.maxCostUsd ?? 0) * 100));
  for (const { pointer } of await findCalledNow(repository, state, thread))
    await addedTo(repository, pointer.id, added);
  return [...added.values()].reduce((sum, each) => sum + each, 0);
}
