import { defineConfig } from 'vitest/config';
import type { ViteUserConfig } from 'vitest/config';
import type { Reporter, TestModule, Vitest } from 'vitest/node';
import { closeWarmPool, warmPool } from './warm-pool.ts';

/**
 * Makes an error of a file or of a hook an error of the run: Stryker looks at the tests alone, and there is none that failed where a
 * mutant cannot even be loaded.
 */
class LoadErrors implements Reporter {
  #vitest: Vitest | undefined;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestModuleEnd(testModule: TestModule): void {
    this.onTestSuiteResult(testModule);
  }

  onTestSuiteResult(suite: { errors(): readonly unknown[] }): void {
    const [error] = suite.errors();
    if (error !== undefined) this.#vitest?.state.catchError(error, 'Unhandled Error');
  }
}

/** The unit tests of the room whose source is changed; `scripts/mutate.js` says which these are. */
const config: ViteUserConfig = defineConfig({
  plugins: [
    {
      name: 'warm-pool',
      // Stryker asks for threads, in options that come before this file's.
      configureVitest({ project, vitest }) {
        project.config.pool = warmPool.name;
        project.config.poolRunner = warmPool;
        vitest.onClose(closeWarmPool);
      },
    },
  ],
  test: {
    include: JSON.parse(process.env['UWF_MUTATED_TESTS'] ?? '[]') as string[],
    exclude: ['test/**/*.long.test.ts', '**/node_modules/**'],
    setupFiles: ['test/mutation/prepare-file.ts'],
    globalSetup: ['test/mutation/set-up.ts'],
    reporters: [new LoadErrors()],
    isolate: false,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});

export default config;
