import { existsSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import type { ViteUserConfig } from 'vitest/config';
// @ts-expect-error -- Plain JavaScript, part of the build.
import { generatedChecksForTests } from './scripts/build/generated-checks.js';

/**
 * Tests that mock modules, or look at what a process has loaded, compiled or left behind: each has a process of its own. All others
 * share three, which load uwf once: that halves what they cost.
 */
const alone = [
  'test/architecture/cold-start.test.ts',
  'test/cas/hash.test.ts',
  'test/cli/output/while-checking.test.ts',
  'test/counts/workflow-checks.test.ts',
  'test/engine/limits/turn-clock.test.ts',
  'test/expression/evaluation/evaluator-child.test.ts',
  'test/expression/evaluation/plain-comparison.test.ts',
  'test/git/repository/read-file-inside.test.ts',
  'test/git/stores/durable-order.test.ts',
  'test/moderator/lazy-loading.test.ts',
  'test/schema/json-schema/compile-schema.test.ts',
  'test/scripts/install-packages.test.ts',
  'test/web/live/live.test.ts',
  'test/worker/find-jobs.test.ts',
];
for (const file of alone) if (!existsSync(file)) throw new Error(`vitest.config.ts names ${file}, which is not there`);

/** Campaigns: `npm run test:long` runs them. Packages of the coding agents that are tried bring tests of their own. */
const others = ['test/**/*.long.test.ts', '**/node_modules/**'];

const limits = {
  // Many tests start dozens of processes, which take ten times as long where others work: this is for what hangs.
  testTimeout: 180_000,
  hookTimeout: 180_000,
  // The second that Vitest gives is too short for a process to start where others work.
  expect: { poll: { timeout: 60_000 } },
  // On two cores: many tests wait for processes that they have started. With two workers the cores are busy to 80 %.
  maxWorkers: 3,
  // CI prints the messages of what failed, without the differences.
  chaiConfig: { truncateThreshold: 1000 },
};

const config: ViteUserConfig = defineConfig({
  test: {
    ...limits,
    // Once for both projects: they do not extend this.
    globalSetup: ['test/global-setup.ts', 'test/memory-folder.ts'],
    // A process is shared only by files that run one after the other: one group, then the other.
    projects: [
      {
        plugins: [generatedChecksForTests],
        test: {
          ...limits,
          name: 'together',
          include: ['test/**/*.test.ts'],
          exclude: [...alone, ...others],
          isolate: false,
          sequence: { groupOrder: 1 },
        },
      },
      {
        plugins: [generatedChecksForTests],
        test: {
          ...limits,
          name: 'alone',
          include: alone,
          exclude: others,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});

export default config;
