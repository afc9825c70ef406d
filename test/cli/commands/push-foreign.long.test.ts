import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createLoopRepository, type CliRepository } from '../../helpers/cli.ts';
import { createTemporaryRepository, runGit, type TemporaryRepository } from '../../helpers/temporary-repository.ts';

type Scene = {
  server: TemporaryRepository;
  home: CliRepository;
  /** A sound thread, at a step. */
  sound: string;
  /** A commit of code that nobody pushed. */
  code: string;
};

async function createScene(): Promise<Scene> {
  const server = createTemporaryRepository({ bare: true });
  const home = createLoopRepository();
  home.git('remote', 'add', 'origin', server.dir);
  const sound = await home.start('loop', 'x');
  await home.uwf(['thread', 'step', sound]);
  writeFileSync(join(home.dir, 'private.c'), 'int main;\n');
  home.git('add', 'private.c');
  home.git('commit', '-qm', 'not for others');
  return { server, home, sound, code: home.git('rev-parse', 'HEAD') };
}

const FORGED = '01KTWEWZ760000000000000000';

/** Makes a commit like another one, but for its tree or its parents, with all else as it is. */
function like(home: CliRepository, commit: string, change: { tree?: string; parents?: string[] }): string {
  const [head = '', ...message] = home.git('cat-file', 'commit', commit).split('\n\n');
  const lines = head.split('\n').filter((line) => !(change.parents && line.startsWith('parent ')));
  const tree = change.tree ?? lines[0]?.slice('tree '.length);
  const parents = (change.parents ?? []).map((id) => `parent ${id}`);
  const text = [`tree ${tree}`, ...parents, ...lines.slice(1)].join('\n');
  return runGit(home.dir, ['hash-object', '-t', 'commit', '-w', '--stdin'], `${text}\n\n${message.join('\n\n')}\n`);
}

/** The tree of a commit with one more entry. */
function grown(home: CliRepository, commit: string, entry: string): string {
  return runGit(home.dir, ['mktree'], `${home.git('ls-tree', commit)}\n${entry}\n`);
}

const forgeries: Record<string, (scene: Scene) => string> = {
  'a branch of the code': ({ code }) => code,
  'a tag': ({ home }) => {
    home.git('tag', '-am', 'a tag', 'v1', 'HEAD');
    return home.git('rev-parse', 'v1');
  },
  'a file': ({ home }) => home.git('rev-parse', 'HEAD:private.c'),
  'a tree': ({ home }) => home.git('rev-parse', 'HEAD^{tree}'),
  'a step with one more parent': ({ home, sound, code }) => {
    const head = `refs/threads/${sound}`;
    return like(home, head, { parents: [home.git('rev-parse', `${head}^1`), code] });
  },
  'a step that follows code': ({ home, sound, code }) => like(home, `refs/threads/${sound}`, { parents: [code] }),
  'a start that follows code': ({ home, sound, code }) =>
    like(home, home.git('rev-list', '--max-parents=0', `refs/threads/${sound}`), { parents: [code] }),
  'a step with one more file': ({ home, sound }) => {
    const blob = home.git('rev-parse', 'HEAD:private.c');
    return like(home, `refs/threads/${sound}`, {
      tree: grown(home, `refs/threads/${sound}`, `100644 blob ${blob}\tprivate.c`),
    });
  },
  'a step with one more folder': ({ home, sound }) => {
    const tree = home.git('rev-parse', 'HEAD^{tree}');
    return like(home, `refs/threads/${sound}`, {
      tree: grown(home, `refs/threads/${sound}`, `040000 tree ${tree}\tworkspace`),
    });
  },
  'a step with a submodule': ({ home, sound, code }) =>
    like(home, `refs/threads/${sound}`, {
      tree: grown(home, `refs/threads/${sound}`, `160000 commit ${code}\tvendor`),
    }),
  'a step after one that follows code': ({ home, sound, code }) => {
    const forged = like(home, `refs/threads/${sound}^1`, { parents: [code] });
    return like(home, `refs/threads/${sound}`, { parents: [forged] });
  },
};

describe('a push sends no ref of a thread that is', () => {
  test.each(Object.entries(forgeries))('%s', async (_, forge) => {
    const scene = await createScene();
    const { home, server, sound } = scene;
    home.git('update-ref', `refs/threads/${FORGED}`, forge(scene));
    const { code, stdout } = await home.uwf(['push', '--all']);
    expect(stdout).toMatch(new RegExp(`\\[held\\] +${FORGED} .*\\(it is no sound thread: `));
    expect(code).toBe(1);
    expect(server.git('for-each-ref', '--format=%(refname)')).toBe(`refs/threads/${sound}`);
    expect(() => server.git('cat-file', '-e', home.git('rev-parse', 'HEAD:private.c'))).toThrow('cat-file -e');
    // Whatever this repository says that the remote had. A thread that is named is looked for there.
    home.git('update-ref', `refs/uwf/remotes/origin/threads/${FORGED}`, `refs/threads/${FORGED}`);
    home.git('update-ref', 'refs/uwf/remotes/origin/threads/01KTWEWZ760000000000000001', scene.code);
    expect((await home.uwf(['push', '-t', FORGED])).code).toBe(1);
    home.git('update-ref', `refs/uwf/remotes/origin/threads/${FORGED}`, scene.code);
    await home.uwf(['push', '--all']);
    expect(() => server.git('cat-file', '-e', home.git('rev-parse', 'HEAD:private.c'))).toThrow('cat-file -e');
  });
});

test('a push names refs of other names, and registries and ends that are none', async () => {
  const { home, server, sound } = await createScene();
  home.git('update-ref', 'refs/threads/mine', 'HEAD');
  home.git('update-ref', 'refs/workflows/code', 'HEAD');
  home.git('update-ref', `refs/history/2026-01-01/${FORGED}`, `refs/threads/${sound}`);
  const report = await home.uwf(['push', '--all', '--json']);
  expect(report.code).toBe(1);
  expect(JSON.parse(report.stdout)).toMatchObject({
    threads: [{ thread: sound }],
    held: [{ thread: FORGED, isUnsound: true, reason: expect.stringContaining('for threads that ended') }],
    rejected: [
      { ref: 'refs/threads/mine', isUnsound: true, reason: 'its name is no thread id' },
      { ref: 'refs/workflows/code', isUnsound: true, reason: expect.stringContaining('it is no sound registry') },
    ],
  });
  expect(server.git('for-each-ref', '--format=%(refname)')).toBe(`refs/threads/${sound}`);
});

test('what the remote has of a thread is not judged again, and what follows is', async () => {
  const { home, server, sound } = await createScene();
  expect((await home.uwf(['push', '--all'])).code).toBe(0);
  const [before, head] = [home.git('rev-parse', `refs/threads/${sound}`), `refs/threads/${sound}`];
  await home.uwf(['thread', 'step', sound]);
  const blob = home.git('rev-parse', 'HEAD:private.c');
  const forged = like(home, head, { tree: grown(home, head, `100644 blob ${blob}\tprivate.c`) });
  const good = home.git('rev-parse', head);
  home.git('update-ref', head, forged);
  expect(await home.uwf(['push', '--all'])).toMatchObject({ code: 1, stdout: expect.stringContaining(sound) });
  expect(server.git('rev-parse', head)).toBe(before);
  home.git('update-ref', head, good);
  expect(await home.uwf(['push', '--all'])).toMatchObject({ code: 0 });
  expect(server.git('rev-parse', head)).toBe(good);
});
