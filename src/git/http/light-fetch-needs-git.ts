import { UwfError } from '../../errors.ts';

/** Contents that come when they are first read are brought by git itself; there is none here. */
export class LightFetchNeedsGit extends UwfError {
  readonly remote: string;
  constructor(remote: string) {
    super(`${remote} cannot be fetched without its contents: only git can bring those later`, {
      code: 'light-fetch-needs-git',
      kind: 'environment',
      hint: 'install git, or fetch everything',
    });
    this.remote = remote;
  }
}
