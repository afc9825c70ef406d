import { cliRepositoryOf, type CliRepository, twoWorkflow } from './cli.ts';
import { createTemporaryFolder, createTemporaryRepository } from './temporary-repository.ts';

/** The folders of a user without consents, as environment variables. */
function strictUser(): Record<string, string | undefined> {
  const home = createTemporaryFolder();
  return {
    HOME: home,
    XDG_CONFIG_HOME: `${home}/config`,
    XDG_STATE_HOME: `${home}/state`,
    UWF_TRUST: undefined,
  };
}

/** A repository of {@link createCliRepository}, whose commands run as a user without consents. */
export function createStrictRepository(
  files: Record<string, string>,
): CliRepository & { user: Record<string, string | undefined> } {
  const user = strictUser();
  return { ...cliRepositoryOf(createTemporaryRepository(), files, user), user };
}

/** A workflow of two roles in sequence. */
export const pairWorkflow: string = twoWorkflow.replace('two', 'pair');

/** A program for a turn that leaves a file when it runs. */
export function script(name: string): string {
  return `echo ran >> ran-${name}\nprintf '%s\\n' --- 'ok: true' --- done\n`;
}

/** A repository whose agents `one` and `two` are its own scripts and run the two roles. */
export function createPair(more: Record<string, string> = {}): ReturnType<typeof createStrictRepository> {
  return createStrictRepository({
    '.uwf/workflows/pair.yaml': pairWorkflow,
    '.uwf/config.yaml': pairConfig(),
    'one.sh': script('one'),
    'two.sh': script('two'),
    ...more,
  });
}

export function pairConfig(more: Record<string, unknown> = {}): string {
  return JSON.stringify({
    agents: {
      one: { package: 'builtin:command', config: { argv: ['sh', 'one.sh'] } },
      two: { package: 'builtin:command', config: { argv: ['sh', 'two.sh'] } },
    },
    roles: { 'pair.first': 'one', 'pair.second': 'two' },
    ...more,
  });
}
