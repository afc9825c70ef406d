import { defineConfig } from 'vitest/config';
import type { ViteUserConfig } from 'vitest/config';

const config: ViteUserConfig = defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Campaigns: `npm run test:long` runs them. Packages of the coding agents that are tried bring tests of their own.
    exclude: ['test/**/*.long.test.ts', '**/node_modules/**'],
    globalSetup: ['test/global-setup.ts'],
    // Many tests start dozens of processes, which take ten times as long where others work: this is for what hangs.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // Two shared cores: more workers only make the race tests slower.
    maxWorkers: 2,
  },
});

export default config;
