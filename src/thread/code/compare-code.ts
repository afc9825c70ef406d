import type { GitPlace } from '../../git/process/spawn-git.ts';
import { isObjectId, type ObjectId } from '../../git/format/object-id.ts';
import type { CommitLine } from '../../git/process/list-commits.ts';
import { runGit } from '../../git/process/run-git.ts';
import { diffTrees, type FileChange } from '../../git/worktree/diff-trees.ts';
import type { ThreadCode } from './thread-code.ts';

/** The form of the output of `git diff`. */
export type DiffForm = 'patch' | 'stat' | 'name-only';

/** Fixed colours: those in the user's configuration could be any escape sequence. */
const settings: readonly string[] = [
  'color.diff.meta=bold',
  'color.diff.frag=cyan',
  'color.diff.func=normal',
  'color.diff.context=normal',
  'color.diff.old=bold red',
  'color.diff.new=green',
  'color.diff.whitespace=bold red',
];

const forms: Readonly<Record<DiffForm, string>> = { patch: '--patch', stat: '--stat', 'name-only': '--name-only' };

/** The changes of a thread to the user's code, read by git. Programs that the repository configures for diffs are not run. */
export class CodeChanges {
  readonly #git: GitPlace & { cwd?: string };
  readonly #code: ThreadCode;
  readonly #paths: readonly string[];

  /**
   * @param git `cwd` is where relative paths start; default: the top of the work tree
   * @param paths only these files and folders, as git reads paths; none stands for all
   */
  constructor(git: GitPlace & { cwd?: string }, code: ThreadCode, paths: readonly string[] = []) {
    this.#git = git;
    this.#code = code;
    this.#paths = paths;
  }

  /** Lists the files that differ from the base, by path, with renames. */
  async files(): Promise<FileChange[]> {
    const { base, tree } = this.#code;
    return diffTrees(this.#git, base, tree, this.#paths);
  }

  /** Compares the files with the base. @returns what `git diff` prints */
  async diff(form: DiffForm, isColoured: boolean, columns?: number): Promise<Buffer> {
    const { base, tree } = this.#code;
    const width = form === 'stat' && columns !== undefined ? [`--stat=${columns}`] : [];
    const how = ['--no-ext-diff', '--no-textconv', '--no-color-moved', `--color=${isColoured ? 'always' : 'never'}`];
    return this.#run(['diff', ...how, forms[form], ...width, base, tree]);
  }

  /** Lists the commits that the base does not have, newest first; the tip is one of them. */
  async log(): Promise<CommitLine[]> {
    const { base, checkedOut, merging, own, message, tip, tree } = this.#code;
    const commits: CommitLine[] = [];
    if (own.length > 0 && (checkedOut === undefined || merging.length > 0 || (await this.#differs(checkedOut, tree)))) {
      commits.push({ commit: tip, subject: message.split('\n', 1)[0] ?? '' });
    }
    if (checkedOut === undefined) return commits;
    const how = ['--no-show-signature', '--no-color', '--format=%H %s'];
    const lines = (await this.#run(['log', ...how, checkedOut, ...merging, '--not', base]))
      .toString('utf8')
      .split('\n');
    for (const line of lines) {
      const [commit = ''] = line.split(' ', 1);
      if (isObjectId(commit)) commits.push({ commit, subject: line.slice(commit.length + 1) });
    }
    return commits;
  }

  async #differs(from: ObjectId, to: ObjectId): Promise<boolean> {
    return (await diffTrees(this.#git, from, to, this.#paths)).length > 0;
  }

  #run(args: readonly string[]): Promise<Buffer> {
    return runGit({ ...this.#git, settings, args: [...args, '--', ...this.#paths] });
  }
}
