import * as fc from 'fast-check';
import { inject, vi } from 'vitest';

// Runs before each file of tests, in a thread that has run others.

// Mutants are many: a property gets few values, and a counterexample is not made smaller.
fc.configureGlobal({ numRuns: 25, endOnFailure: true });

// What modules keep would be of other tests, and of the mutant before.
vi.resetModules();

/** What Stryker's code in the source shares with its runner. */
type Shared = { activeMutant?: string | undefined; mutantCoverage?: unknown };
const shared = (globalThis as { __stryker__?: Shared }).__stryker__;
if (shared !== undefined && inject<never>('mutantActivation' as never) !== 'static') {
  // Modules are loaded without a mutant; Stryker switches it on before the first test.
  shared.activeMutant = undefined;
  shared.mutantCoverage = undefined;
}
