import { UwfError } from '../errors.ts';

/** The folder that was named to work in is not there. */
export class FolderNotFound extends UwfError {
  readonly path: string;
  constructor(path: string) {
    super(`there is no folder ${path}`, {
      code: 'folder-not-found',
      kind: 'usage',
      hint: 'name another folder with -C',
    });
    this.path = path;
  }
}

/** There is no git repository where one was looked for. */
export class RepositoryNotFound extends UwfError {
  /** Where the search started, or what was named as the repository. */
  readonly path: string;
  /** @param reason what is wrong with `path`; absent: neither it nor a folder above it is a repository */
  constructor(path: string, reason?: string) {
    super(reason === undefined ? `${path} is not in a git repository` : `${path} is not a git repository: ${reason}`, {
      code: 'repository-not-found',
      kind: 'environment',
      hint: "run 'git init' first, or name another folder with -C",
    });
    this.path = path;
  }
}
