import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runCommand, type CommandResult, twoWorkflow } from '../helpers/cli.ts';
import { createTemporaryFolder, runGit } from '../helpers/temporary-repository.ts';
import { buildKind, kinds, placeAt, type Place } from './kinds.ts';

const config = `agents:
  work: { package: "builtin:command", config: { argv: [sh, -c, "echo $UWF_ROLE >> log.txt; printf '%s\\\\n' --- 'ok: true' --- done"] } }
defaultAgent: work
snapshot: { mode: on, timeoutMs: 120000 }
`;

/** Everything of the user's that must be as before: files of the git folder by content, refs, and what git says. */
function usersState({ git }: Place): Record<string, string> {
  const isBare = git('rev-parse', '--is-bare-repository') === 'true';
  const status = ['--no-optional-locks', '-c', 'core.fsmonitor=false', 'status', '--porcelain=v2', '-z', '--branch'];
  const state: Record<string, string> = {
    status: isBare ? '' : said(() => git(...status)).replaceAll(/[^\0]*log\.txt\0/g, ''),
    // git joins small packs.
    objects: idsIn(said(() => git('rev-list', '--objects', '--missing=print', '--branches', '--tags', '--remotes'))),
    refs: git('for-each-ref', 'refs/heads', 'refs/tags', 'refs/remotes', 'refs/stash'),
  };
  for (const folder of new Set([
    git('rev-parse', '--absolute-git-dir'),
    git('rev-parse', '--path-format=absolute', '--git-common-dir'),
  ])) {
    for (const name of readdirSync(folder, { recursive: true, encoding: 'latin1' })) {
      const isUsers =
        /^(?:index|sharedindex.*|config|config\.worktree|HEAD|ORIG_HEAD|MERGE_.*|shallow|info\/.*|logs\/(?:HEAD|refs\/(?:heads|stash|remotes).*))$/.test(
          name,
        ) ||
        /^objects\/(?:pack\/.*\.(?:bitmap|promisor)|pack\/multi-pack-index.*|info\/(?:commit-graph.*|alternates))$/.test(
          name,
        );
      const path = join(folder, name);
      if (isUsers && lstatSync(path).isFile())
        state[`${folder}/${name}`] = createHash('sha1').update(readFileSync(path)).digest('hex');
    }
  }
  return state;
}

/** The ids that git lists. Those that a partial clone lacks can come in. */
function idsIn(listed: string): string {
  return [...listed.matchAll(/^\??([0-9a-f]{40,})/gm)]
    .map(([, id = '']) => id)
    .toSorted()
    .join(' ');
}

/** What is in a work tree, without what is git's and what a list leaves out. */
function filesIn(dir: string, without: readonly string[] = []): Record<string, string> {
  const files: Record<string, string> = {};
  const visit = (folder: string): void => {
    for (const entry of readdirSync(Buffer.from(`${dir}/${folder}`, 'latin1'), {
      encoding: 'latin1',
      withFileTypes: true,
    })) {
      const path = folder + entry.name;
      if (entry.name === '.git' || without.includes(path)) continue;
      const file = Buffer.from(`${dir}/${path}`, 'latin1');
      if (entry.isDirectory()) visit(`${path}/`);
      else if (entry.isSymbolicLink()) files[path] = `link ${readlinkSync(file, 'latin1')}`;
      else if (entry.isFile()) files[path] = `${lstatSync(file).mode & 0o100} ${readFileSync(file).toString('latin1')}`;
    }
  };
  visit('');
  return files;
}

async function fine(place: Place, ...argv: string[]): Promise<CommandResult> {
  const result = await runCommand(argv, { cwd: place.dir });
  expect(`${argv.join(' ')}: ${result.code}, ${result.code === 0 ? '' : result.all}`).toBe(`${argv.join(' ')}: 0, `);
  return result;
}

describe('in a repository with', () => {
  test.each(Object.keys(kinds))('%s all goes well, and the user finds everything as before', async (name) => {
    const { missing, isBare = false, hasOtherLineEnds = false } = kinds[name]!;
    const convert = (files: Record<string, string>): Record<string, string> =>
      hasOtherLineEnds
        ? Object.fromEntries(Object.entries(files).map(([path, text]) => [path, text.replaceAll('\r\n', '\n')]))
        : files;
    const place = buildKind(kinds[name]!);
    place.write(isBare ? 'uwf/config.yaml' : '.uwf/config.yaml', config);
    const file = isBare ? 'two.yaml' : '.uwf/workflows/two.yaml';
    place.write(file, twoWorkflow);
    const before = usersState(place);
    if (isBare) await fine(place, 'workflow', 'add', file);
    const ran = await fine(place, 'run', 'two', '-p', 'go');
    const missed = isBare ? /did not work in a work tree/ : (missing ?? /^(?!.*not recorded)/);
    // In an object, so that a failure prints all of it.
    const said = ran.stderr.replaceAll('\n', ' ');
    expect({ said }).toEqual({ said: expect.stringMatching(missed) as string });
    const left = isBare ? {} : filesIn(place.dir);
    const [listed] = JSON.parse((await fine(place, 'thread', 'list', '--all', '--json')).stdout) as {
      thread: string;
    }[];
    const thread = listed?.thread ?? '';
    await fine(place, 'thread', 'show', thread);
    await fine(place, 'thread', 'verify', thread);

    const format = place.git('rev-parse', '--show-object-format');
    const remote = createTemporaryFolder();
    runGit(remote, ['init', '-q', '--bare', '-b', 'main', `--object-format=${format}`]);
    runGit(remote, ['config', 'receive.shallowUpdate', 'true']);
    // Threads bring no commits of code along that the remote does not have.
    if (name !== 'no commit yet') place.git('push', '-q', '--no-verify', remote, 'HEAD:refs/heads/main');
    await fine(place, 'push', remote, thread);
    const clone = placeAt(createTemporaryFolder());
    clone.git('clone', '-q', remote, '.');
    await fine(clone, 'fetch', 'origin');
    await fine(clone, 'thread', 'verify', thread);

    if (!isBare) {
      for (const where of [place, clone]) {
        const folder = join(createTemporaryFolder(), 'restored');
        for (const filter of ['rot', 'large']) {
          const lines = placeConfig(place, `filter\\.${filter}\\.`);
          if (where === clone) for (const [key, value] of lines) clone.git('config', key, value);
        }
        await fine(where, 'step', 'restore', '2', '-t', thread, '--worktree', folder);
        if (missing === undefined && existsSync(join(place.dir, 'log.txt'))) {
          // A sparse work tree has fewer files than the tree that was recorded.
          expect(convert(filesIn(folder))).toMatchObject(convert(left));
        }
        where.git('worktree', 'remove', '--force', folder);
      }
    }
    for (const where of [place, clone]) await fine(where, 'gc');
    await fine(place, 'thread', 'verify', thread);
    await fine(place, 'fsck');
    const after = usersState(place);
    const kept = Object.fromEntries(Object.keys(before).map((key) => [key, after[key] ?? 'gone']));
    expect(kept).toEqual(before);
    if (!isBare) expect(filesIn(place.dir)).toEqual(left);
  });
});

/** What git says; where a filter is missing it fails, with the filter in many words. */
function said(run: () => string): string {
  try {
    return run();
  } catch {
    return 'it fails';
  }
}

function placeConfig({ git }: Place, pattern: string): [string, string][] {
  try {
    return git('config', '--get-regexp', pattern)
      .split('\n')
      .map((line): [string, string] => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)]);
  } catch {
    return [];
  }
}
