import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cloneCliRepository, createLoopRepository, type CliRepository } from '../helpers/cli.ts';
import { createTemporaryFolder, runGit } from '../helpers/temporary-repository.ts';

type Scene = { reader: CliRepository; shared: string; thread: string; lost: string; witness: string; program: string };

/** A partial clone with a thread, one whose contents git left out, and a program that tells when it was run. */
async function createScene(): Promise<Scene> {
  const root = createTemporaryFolder();
  const [shared, witness, program] = [join(root, 'shared.git'), join(root, 'witness'), join(root, 'program')];
  writeFileSync(program, `#!/bin/sh\nprintf '%s\\n' "$0 $*" >> '${witness}'\nexit 1\n`, { mode: 0o755 });
  const author = createLoopRepository();
  author.write('.gitattributes', '* filter=planted diff=planted merge=planted\n');
  author.git('add', '.');
  author.git('commit', '--quiet', '-m', 'code');
  runGit(root, ['init', '--quiet', '--bare', '--initial-branch=main', 'shared.git']);
  runGit(shared, ['config', 'uploadpack.allowFilter', 'true']);
  const run = async (): Promise<string> =>
    String((await author.lines(['run', 'loop', '-p', 'Write something'])).at(-1)?.['thread']);
  const [thread, lost] = [await run(), await run()];
  author.git('remote', 'add', 'origin', shared);
  author.git('push', '--quiet', 'origin', 'main', 'refs/history/*');
  const reader = cloneCliRepository(`file://${shared}`, {}, ['--filter=blob:none']);
  expect(await reader.uwf(['fetch', 'origin', thread])).toMatchObject({ code: 0 });
  reader.git('fetch', '--quiet', 'origin', 'refs/history/*:refs/history/*');
  return { reader, shared, thread, lost, witness, program };
}

const ran = ({ witness }: Scene): string => (existsSync(witness) ? readFileSync(witness, 'utf8') : '');

/** Everything in a repository's configuration that has git run a program. */
function plant({ reader, program }: Scene): void {
  const settings = [
    ...['sshCommand', 'fsmonitor', 'pager', 'editor', 'askPass', 'gitProxy', 'alternateRefsCommand'].map(
      (key) => `core.${key}`,
    ),
    ...['uploadpack', 'receivepack', 'proxy'].map((key) => `remote.origin.${key}`),
    'diff.external',
    'diff.planted.textconv',
    'diff.planted.command',
    'merge.planted.driver',
    ...['clean', 'smudge', 'process'].map((key) => `filter.planted.${key}`),
    'credential.helper',
    'gpg.program',
    'gpg.ssh.program',
    'uploadpack.packObjectsHook',
    'gc.recentObjectsHook',
    'pager.log',
    'pager.config',
    'sequence.editor',
    'interactive.diffFilter',
    'alias.config',
    'alias.cat-file',
  ];
  for (const name of settings) reader.git('config', name, program);
  reader.git('config', 'protocol.allow', 'always');
  reader.git('config', 'protocol.ext.allow', 'always');
  const hooks = join(reader.dir, 'hooks');
  mkdirSync(hooks);
  for (const name of ['post-checkout', 'post-index-change', 'reference-transaction', 'pre-push', 'pre-auto-gc']) {
    writeFileSync(join(hooks, name), `#!/bin/sh\nexec '${program}' ${name}\n`, { mode: 0o755 });
  }
  reader.git('config', 'core.hooksPath', hooks);
}

function looking(thread: string): string[][] {
  return [
    ['thread', 'list', '--all'],
    ['thread', 'show', thread],
    ['thread', 'read', thread],
    ['thread', 'verify', thread],
    ['thread', 'diff', thread, thread],
    ['log'],
    ['log', thread],
    ['log', thread, '--graph'],
    ['step', 'list', thread],
    ['step', 'show', thread, '--step', '1'],
    ['step', 'turns', thread],
    ['workflow', 'list'],
    ['workflow', 'show', 'loop'],
    ['cas', 'list'],
    ['schema', 'list'],
    ['agent', 'list'],
    ['fsck'],
    ['doctor'],
    ['__complete', 'thread', 'show', ''],
  ];
}

test.each([
  ['that runs a program', (program: string) => `ext::${program} %S`],
  ['over ssh', () => 'ssh://git@127.0.0.1:1/x.git'],
  ['over HTTP', () => 'http://127.0.0.1:1/x.git'],
  ["over git's own protocol", () => 'git://127.0.0.1:1/x.git'],
  ['in a folder', (_: string, shared: string) => shared],
])(
  'looking runs nothing that the configuration of a repository names, its remote being one %s',
  async (_, urlOf) => {
    const scene = await createScene();
    const { reader, shared, thread, lost, program } = scene;
    plant(scene);
    reader.git('config', 'remote.origin.url', urlOf(program, shared));
    for (const words of looking(thread)) {
      await reader.uwf(words);
      expect(ran(scene), words.join(' ')).toBe('');
    }
    expect((await reader.uwf(['thread', 'read', thread])).stdout).toContain('A second draft');
    await reader.says(`thread read ${lost}`, 1, /object \w+ is not in the repository/);
    expect(ran(scene)).toBe('');
  },
  120_000,
);

test('a remote that runs a program is asked for nothing, unless the user allows it', async () => {
  const scene = await createScene();
  const { reader, program, thread } = scene;
  expect(await reader.uwf(['thread', 'fork', thread, '--at', '2'])).toMatchObject({ code: 0 });
  reader.git('config', 'protocol.allow', 'always');
  reader.git('config', 'protocol.ext.allow', 'always');
  reader.git('config', 'remote.origin.url', `ext::${program} %S`);
  const commands = [['fetch'], ['push', '--all'], ['sync', '--all'], ['thread', 'list', '--remote=origin']];
  for (const words of commands) {
    const { code, stderr } = await reader.uwf(words);
    expect([code, stderr], words.join(' ')).toEqual([1, expect.stringContaining("transport 'ext' not allowed")]);
  }
  expect(ran(scene)).toBe('');
  const global = join(createTemporaryFolder(), 'config');
  writeFileSync(global, '[protocol "ext"]\n\tallow = always\n');
  await reader.uwf(['fetch'], { env: { GIT_CONFIG_GLOBAL: global } });
  expect(ran(scene)).not.toBe('');
}, 120_000);
