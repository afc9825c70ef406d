import { shellQuoted } from '../../text/wording.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';

/** A hint whose commands of uwf mean the same folder as the command that gives it: one that `-C` named is named again. */
export function hintFrom({ givenFolder }: Pick<CliEnvironment, 'givenFolder'>, hint: string): string {
  if (givenFolder === undefined) return hint;
  return hint.replaceAll(/(?<=')uwf (?=[a-z])/g, () => `uwf -C ${quoted(givenFolder)} `);
}

/** A path as a shell takes it. */
function quoted(path: string): string {
  return /^[\w+,./:=@^-]+$/.test(path) ? path : shellQuoted(path);
}
