import { keyOf, subsectionOf } from '../format/config.ts';
import { type GitPlace, runGit, switchedOff } from './run-git.ts';

export type GitVariable = {
  /** The scope in which it is set: `system`, `global`, `local` … */
  scope: string;
  /** Section and key in lower case, the subsection between them as written: `remote.Origin.url`. */
  name: string;
  /** `undefined` for a variable without `=`, which git reads as true. */
  value: string | undefined;
};

/**
 * Lists all variables that git sees in a repository, includes followed, in the order in which git reads them.
 * Source: git-config(1), `--list`, `--show-scope`, `--null`.
 */
export async function listGitVariables(git: GitPlace): Promise<GitVariable[]> {
  return parseListed(await runGit({ ...git, args: listing }));
}

export const listing: readonly string[] = ['config', '--list', '--null', '--show-scope', '--includes'];

export function parseListed(printed: Buffer): GitVariable[] {
  const fields = printed.toString('utf8').split('\0');
  const variables: GitVariable[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const entry = fields[at + 1] ?? '';
    const end = entry.indexOf('\n');
    const [name, value] = end === -1 ? [entry, undefined] : [entry.slice(0, end), entry.slice(end + 1)];
    variables.push({ scope: fields[at] ?? '', name, value });
  }
  // Settings that uwf passes to every git are not part of the configuration.
  for (const setting of switchedOff) {
    const [key] = setting.toLowerCase().split('=');
    const own = variables.findLastIndex(({ scope, name }) => scope === 'command' && name === key);
    if (own !== -1) variables.splice(own, 1);
  }
  return variables;
}

/** Tells whether the repository's own configuration sets a variable, not the user's, the system's or the environment. */
export function isOfRepository({ scope }: Pick<GitVariable, 'scope'>): boolean {
  return scope === 'local' || scope === 'worktree';
}

/** Returns the known variables on the first call and lists them again on later calls, because a command may change them. */
export function listingAfter(known: readonly GitVariable[], git: GitPlace): () => Promise<readonly GitVariable[]> {
  let first: readonly GitVariable[] | undefined = known;
  return async () => {
    const variables = first ?? (await listGitVariables(git));
    first = undefined;
    return variables;
  };
}

/** Writes variables as a configuration file that git reads as the same. Source: git-config(1), "Syntax". */
export function formatGitVariables(variables: readonly Pick<GitVariable, 'name' | 'value'>[]): string {
  return variables.map(({ name, value }) => `${sectionOf(name)}\n\t${keyOf(name)}${assigned(value)}\n`).join('');
}

function sectionOf(name: string): string {
  const section = name.slice(0, name.indexOf('.'));
  const subsection = subsectionOf(name);
  return subsection === undefined ? `[${section}]` : `[${section} "${subsection.replaceAll(/["\\]/g, '\\$&')}"]`;
}

function assigned(value: string | undefined): string {
  if (value === undefined) return '';
  const escaped = value.replaceAll(/["\\]/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\t', '\\t');
  return ` = "${escaped}"`;
}
