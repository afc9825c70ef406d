import { UwfError } from '../../errors.ts';

/** The search found no git repository. */
export class RepositoryNotFound extends UwfError {
  /** @param reason what is wrong with `path`; absent: neither it nor a folder above it is a repository */
  constructor(path: string, reason?: string) {
    super(reason === undefined ? `${path} is not in a git repository` : `${path} is not a git repository: ${reason}`, {
      code: 'repository-not-found',
      kind: 'environment',
      hint: "run 'git init' first, or name another folder with -C",
      facts: { path },
    });
  }
}
