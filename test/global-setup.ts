import type { TestProject } from 'vitest/node';

/** Variables of whoever runs the tests that would change what git or uwf does in them. */
const leaking = /^(GIT_|UWF_|NODE_EXTRA_CA_CERTS$|FORCE_COLOR$|NO_COLOR$)/;

/** What every test and every process it starts sees. */
const isolated: Record<string, string> = {
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  XDG_CONFIG_HOME: '/nonexistent',
  UWF_TRUST: 'all',
  LC_ALL: 'C.UTF-8',
  TZ: 'UTC',
};

/** Isolates the tests from the machine's configuration. */
export function isolateEnvironment(): void {
  for (const name of Object.keys(process.env)) if (leaking.test(name)) delete process.env[name];
  Object.assign(process.env, isolated);
}

/**
 * Isolates the tests from the machine's configuration and brings the programs that they start up to date.
 *
 * A build that fails is said and does not stop the tests: those that start no program still tell something. `npm test`
 * builds first, and there it is an error.
 */
export default async function setUp(project: TestProject): Promise<void> {
  isolateEnvironment();
  // Plain JavaScript: it has to run before anything is installed or built.
  const script = new URL('../scripts/build.js', import.meta.url).href;
  const { build } = (await import(script)) as { build(options: { programsOnly: boolean }): Promise<boolean> };
  try {
    await build({ programsOnly: true });
  } catch (error) {
    project.vitest.logger.error(`The build failed; tests that start uwf run an older one. ${String(error)}`);
  }
}
