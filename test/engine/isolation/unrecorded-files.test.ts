import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { chain, config, createScene, type UwfOutcome } from '../../faults/scene.ts';
import { createTemporaryFolder, createTemporaryRepository } from '../../helpers/temporary-repository.ts';

/** A repository whose isolated agent runs a script, with a submodule `lib`. */
function createLeaving(script: string): {
  uwf: (...args: string[]) => Promise<UwfOutcome>;
  git: (...args: string[]) => string;
  treeOf: (thread: string) => string;
  readThread: (outcome: UwfOutcome) => string;
} {
  const library = createTemporaryRepository();
  library.git('commit', '--quiet', '--allow-empty', '-m', 'first');
  const scene = createScene({
    '.uwf/workflows/w.yaml': `${chain('w', ['coder'])}\nisolation: worktree\n`,
    '.uwf/config.yaml': config(['./agent']),
    agent: `#!/bin/sh\n${script}\nprintf -- '---\\n$status: done\\n---\\nDone.\\n'\n`,
  });
  const { git } = scene;
  git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', library.dir, 'lib');
  git('add', '-A');
  git('commit', '-qm', 'code');
  const env = { HOME: createTemporaryFolder(), XDG_STATE_HOME: createTemporaryFolder() };
  const treeOf = (thread: string): string => {
    const listed = git('worktree', 'list', '--porcelain').split('\n');
    return listed.find((line) => line.endsWith(`/${thread}`))?.slice('worktree '.length) ?? 'none';
  };
  const readThread = ({ stderr }: UwfOutcome): string =>
    /thread (\S+) (?:is suspended|has ended)/.exec(stderr)?.[1] ?? '';
  return { uwf: (...args) => scene.uwf(args, { env }), git, treeOf, readThread };
}

const unrecordable: Record<string, { script: string; left: string }> = {
  'a repository without a commit': { script: 'git init -q own; echo work > own/work', left: 'own/work' },
  'a file in a submodule that is not checked out': { script: 'echo work > lib/work', left: 'lib/work' },
  'a change in a submodule': {
    script: 'git -c protocol.file.allow=always submodule --quiet update --init; echo work > lib/work',
    left: 'lib/work',
  },
};

describe.each(Object.entries(unrecordable))('%s', (_, { script, left }) => {
  test('holds its turn, and stays where it is after the thread was cancelled', async () => {
    const { uwf, treeOf, readThread } = createLeaving(script);
    const outcome = await uwf('run', 'w', '-p', 'x');
    expect(outcome.code).toBe(4);
    const thread = readThread(outcome);
    expect(await uwf('thread', 'cancel', thread)).toMatchObject({ code: 0 });
    // Another thread takes the work tree of one that is over, if it is at rest.
    expect(await uwf('run', 'w', '-p', 'x')).toMatchObject({ code: 4 });
    await uwf('gc');
    expect(readFileSync(join(treeOf(thread), left), 'utf8')).toBe('work\n');
    expect((await uwf('doctor')).stdout).toContain(`${thread} has files`);
  });
});

test('commits of a submodule stay until a remote has them', async () => {
  const { uwf, git, treeOf, readThread } = createLeaving(
    `git -c protocol.file.allow=always submodule --quiet update --init
[ -e plain ] || git -C lib commit --quiet --allow-empty -m work; echo x > plain`,
  );
  const thread = readThread(await uwf('run', 'w', '-p', 'x'));
  const tree = treeOf(thread);
  await uwf('gc');
  expect(existsSync(tree)).toBe(true);
  expect((await uwf('doctor')).stdout).toContain(
    `commits of a submodule that no remote has, and thread ${thread} is over`,
  );
  git('-C', join(tree, 'lib'), 'push', '--quiet', 'origin', 'HEAD:refs/heads/work');
  await uwf('gc');
  expect(existsSync(tree)).toBe(false);
});

test('a submodule at a commit that is on no branch of its remote keeps no work tree', async () => {
  const { uwf, git, treeOf, readThread } = createLeaving(
    'git -c protocol.file.allow=always submodule --quiet update --init',
  );
  git('-C', 'lib', 'commit', '--quiet', '--allow-empty', '-m', 'apart');
  git('-C', 'lib', 'push', '--quiet', 'origin', 'HEAD:refs/changes/1');
  git('commit', '-qam', 'apart');
  const thread = readThread(await uwf('run', 'w', '-p', 'x'));
  expect(existsSync(treeOf(thread))).toBe(true);
  await uwf('gc');
  expect(treeOf(thread)).toBe('none');
});
