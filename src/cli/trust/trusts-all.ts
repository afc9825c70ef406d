import type { CliContext } from '../context.ts';

/** Whether the environment says that all of every repository may run, as that of a CI can. */
export function trustsAll({ env }: Pick<CliContext, 'env'>): boolean {
  return env['UWF_TRUST'] === 'all';
}
