import { isolateEnvironment } from '../global-setup.ts';

/** Builds nothing: `scripts/mutate.js` has built the programs, and every worker of the mutation tester comes here. */
export default isolateEnvironment;
