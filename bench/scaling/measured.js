/**
 * What was measured on two shared cores with git 2.39 (docs/scaling.md), as inputs of the model.
 *
 * @type {Record<'http-backend' | 'http-backend, 100,000 refs' | 'sshd', import('./scenario.ts').HostCosts>}
 */
export const measured = {
  'http-backend': { look: 7, lookForEach: 0.002, claim: 30, step: 35, fetch: 11 },
  'http-backend, 100,000 refs': { look: 7, lookForEach: 0.002, claim: 750, step: 760, fetch: 12 },
  sshd: { look: 125, lookForEach: 0.002, claim: 165, step: 170, fetch: 125 },
};
