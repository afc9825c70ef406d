import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/global-setup.ts'],
    // Many tests start dozens of processes, which take ten times as long where others work: this is for what hangs.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // Two shared cores: more workers only make the race tests slower.
    maxWorkers: 2,
    // Tests that race with git itself, or measure memory, meet a busy machine now and then; one that is wrong fails twice.
    retry: process.env['CI'] === undefined ? 0 : 1,
  },
});
