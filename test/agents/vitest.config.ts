import { defineConfig } from 'vitest/config';
import type { ViteUserConfig } from 'vitest/config';

/** What needs coding agents of others: too large to be installed for every test of uwf itself. */
const config: ViteUserConfig = defineConfig({
  test: {
    include: ['test/agents/*.agents.ts'],
    globalSetup: ['test/global-setup.ts'],
    testTimeout: 600_000,
    hookTimeout: 60_000,
    // Each agent takes a processor of its own to start, and there are two where these tests run.
    maxWorkers: 2,
  },
});

export default config;
