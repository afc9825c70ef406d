import type { CliEnvironment } from '../process/cli-environment.ts';

/** A hint whose commands of uwf mean the same folder as the command that gives it: one that `-C` named is named again. */
export function hintFrom({ cwd, isFolderGiven }: Pick<CliEnvironment, 'cwd' | 'isFolderGiven'>, hint: string): string {
  return isFolderGiven ? hint.replaceAll(/(?<=')uwf (?=[a-z])/g, () => `uwf -C ${quoted(cwd)} `) : hint;
}

/** A path as a shell takes it. */
function quoted(path: string): string {
  return /^[\w+,./:=@^-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
}
