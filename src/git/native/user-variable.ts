import { spawnSync } from 'node:child_process';

import type { GitEnvironment } from '../git-directory.ts';
import { readUserVariables } from './read-config-files.ts';

/** The value of a variable in the configuration of the system and the user; no repository's is looked at. */
export function userVariable(name: string, env: GitEnvironment): string | undefined {
  const variables = readUserVariables(env);
  if (variables !== undefined) return variables.findLast((variable) => variable.name === name)?.value;
  const asked = spawnSync('git', ['config', '--global', '--includes', '--get', name], { env, encoding: 'utf8' });
  return asked.status === 0 ? asked.stdout.trimEnd() : undefined;
}
