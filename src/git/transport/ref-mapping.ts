import { UwfError } from '../../errors.ts';
import { isRefName, parseRefName } from '../format/refs.ts';
import type { GitVariable } from '../process/git-variables.ts';
import type { RefName } from '../ref-store.ts';

const ROOT = 'refs/';
/** Names that every host takes. They are the same on both sides. */
const COMMON = ['refs/heads/', 'refs/tags/'];

/**
 * The names of refs at a host that takes only branches and tags: all other refs are below a prefix there. With
 * `refs/heads/uwf/`, the host's name of `refs/threads/x` is `refs/heads/uwf/threads/x`.
 *
 * A ref of the host that is neither a branch, nor a tag, nor below the prefix has no name here, because its own name belongs to
 * a ref below the prefix.
 */
export class RefMapping {
  readonly prefix: string;

  /**
   * @param prefix a folder of refs, `refs/<folder>/`; not that of all branches or all tags
   * @param variable where it is configured, for the error
   * @throws {UwfError} `invalid-uwf-prefix`
   */
  constructor(prefix: string, variable: string) {
    const isFolder = prefix.endsWith('/') && isRefName(`${prefix}x`);
    if (!isFolder || prefix === ROOT || COMMON.includes(prefix)) throw invalidPrefix(prefix, variable);
    this.prefix = prefix;
  }

  /** The name at the host. */
  there(name: string): string {
    return isBranchOrTag(name) || !name.startsWith(ROOT) ? name : `${this.prefix}${name.slice(ROOT.length)}`;
  }

  /** The name at the host, of a ref that is to be changed. */
  refThere(name: RefName): RefName {
    return parseRefName(this.there(name));
  }

  /** The name here of a ref of the host; `undefined` if it has none. */
  here(name: string): string | undefined {
    if (name.startsWith(this.prefix)) {
      const mapped = `${ROOT}${name.slice(this.prefix.length)}`;
      // `<prefix>heads/x` is a branch of the host, and not `refs/heads/x`.
      if (!isBranchOrTag(mapped)) return mapped;
    }
    return isBranchOrTag(name) ? name : undefined;
  }

  /** Patterns of the names at the host for a name or a pattern of names here. They can match more. */
  patternsThere(pattern: string): string[] {
    if (!pattern.endsWith('*')) return [this.there(pattern)];
    const start = pattern.slice(0, -1);
    if (isBranchOrTag(start)) return [pattern];
    const mapped = start.startsWith(ROOT) ? `${this.there(start)}*` : `${this.prefix}*`;
    return COMMON.some((common) => common.startsWith(start)) ? [pattern, mapped] : [mapped];
  }
}

/**
 * The mapping that git's configuration sets for a remote: `remote.<name>.uwfPrefix`. An empty value sets none.
 *
 * @throws {UwfError} `invalid-uwf-prefix`
 */
export function refMappingOf(variables: readonly GitVariable[], remote: string): RefMapping | undefined {
  const set = variables.findLast(({ name }) => name === `remote.${remote}.uwfprefix`);
  if (set === undefined || set.value === '') return undefined;
  return new RefMapping(set.value ?? '', `remote.${remote}.uwfPrefix`);
}

export function isBranchOrTag(name: string): boolean {
  return COMMON.some((common) => name.startsWith(common));
}

function invalidPrefix(prefix: string, variable: string): UwfError {
  return new UwfError(`${variable} is '${prefix}', which is no folder of refs`, {
    code: 'invalid-uwf-prefix',
    kind: 'usage',
    hint: `git config ${variable} refs/heads/uwf/`,
    facts: { variable, prefix },
  });
}
