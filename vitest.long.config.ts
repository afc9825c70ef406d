import { defineConfig } from 'vitest/config';
import type { ViteUserConfig } from 'vitest/config';
// @ts-expect-error -- Plain JavaScript, part of the build.
import { generatedChecksForTests } from './scripts/build/generated-checks.js';

/** Campaigns: many kills, many mutations, many repositories; minutes each. */
const config: ViteUserConfig = defineConfig({
  plugins: [generatedChecksForTests],
  test: {
    include: ['test/**/*.long.test.ts'],
    exclude: ['**/node_modules/**'],
    globalSetup: ['test/global-setup.ts'],
    testTimeout: 1_200_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
    // On two cores: campaigns wait for processes, time-outs and looks of workers most of the time.
    maxWorkers: 3,
  },
});

export default config;
