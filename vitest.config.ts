import { defineConfig } from 'vitest/config';
import type { ViteUserConfig } from 'vitest/config';
// @ts-expect-error -- Plain JavaScript, part of the build.
import { generatedChecksForTests } from './scripts/build/generated-checks.js';

/**
 * Unit tests of rooms that keep nothing in the process but caches. Their files share two processes, which load uwf once: that halves
 * what they cost. Other rooms keep more, the last id of a thread for one, so there each file has a process of its own.
 */
const together = [
  'test/cas/*.test.ts',
  'test/expression/{analysis,template}/**/*.test.ts',
  'test/schema/**/*.test.ts',
  'test/workflow/**/*.test.ts',
];

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
          include: together,
          exclude: others,
          isolate: false,
          sequence: { groupOrder: 1 },
        },
      },
      {
        plugins: [generatedChecksForTests],
        test: {
          ...limits,
          name: 'alone',
          include: ['test/**/*.test.ts'],
          exclude: [...together, ...others],
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});

export default config;
