import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createCliRepository, loopWorkflow, type CliRepository, type Remote } from '../../helpers/cli.ts';
import { runGit } from '../../helpers/temporary-repository.ts';

const config = `snapshot: { mode: on }
agents:
  script:
    package: builtin:command
    config: { argv: [sh, -c, "printf -- '---\\\\n$status: written\\\\nwords: 3\\\\n---\\\\nA text'"] }
defaultAgent: script
`;

/** A repository whose remote has the first of two commits: the second one is not pushed. */
function createScene(): { server: Remote; home: CliRepository } {
  const home = createCliRepository({ '.uwf/workflows/loop.yaml': loopWorkflow, '.uwf/config.yaml': config });
  home.git('add', '.');
  home.git('commit', '-qm', 'public');
  const server = home.share();
  home.git('push', '-q', 'origin', 'main');
  commit(home, 'secret.txt', 'add a secret');
  return { server, home };
}

function commit(home: CliRepository, name: string, message: string): void {
  writeFileSync(join(home.dir, name), `${message}\n`);
  home.git('add', '.');
  home.git('commit', '-qm', message);
}

function removeObject(dir: string, id: string): void {
  const objects = join(dir, '.git/objects');
  const packs = readdirSync(join(objects, 'pack')).filter((name) => name.endsWith('.pack'));
  const contents = packs.map((name) => readFileSync(join(objects, 'pack', name)));
  rmSync(join(objects, 'pack'), { recursive: true });
  for (const content of contents) runGit(dir, ['unpack-objects', '-q'], content);
  rmSync(join(objects, id.slice(0, 2), id.slice(2)));
}

async function step(home: CliRepository, thread?: string): Promise<string> {
  const id = thread ?? (await home.start('loop', 'x'));
  expect((await home.uwf(['thread', 'step', id, '--role', 'writer'])).code).toBe(0);
  return id;
}

test('a push names the commits of the code that a thread would publish, and holds it', async () => {
  const { server, home } = createScene();
  const thread = await step(home);
  const secret = home.git('rev-parse', 'HEAD');
  for (const words of [
    ['push', '--all'],
    ['push', '--all', '-n'],
    ['sync', '--all'],
  ]) {
    const { code, stdout, stderr } = await home.uwf(words);
    expect({ words, code }).toEqual({ words, code: 1 });
    expect(stdout).toContain(`[held]             ${thread}`);
    expect(stdout).toContain(`[not there]        ${secret.slice(0, 7)}  (add a secret)`);
    expect(stderr).toContain('--with-commits');
  }
  const report = await home.uwf(['push', '--all', '--json']);
  expect(report.code).toBe(1);
  expect(JSON.parse(report.stdout)).toMatchObject({
    threads: [],
    commits: [],
    held: [{ thread, commits: [{ commit: secret, subject: 'add a secret' }] }],
  });
  expect(server.git('for-each-ref', 'refs/threads')).toBe('');
  expect(() => server.git('cat-file', '-e', secret)).toThrow('git cat-file -e');
});

test('--with-commits publishes them and says so', async () => {
  const { server, home } = createScene();
  const thread = await step(home);
  const secret = home.git('rev-parse', 'HEAD');
  const { code, stdout } = await home.uwf(['push', '--all', '--with-commits']);
  expect(code).toBe(0);
  expect(stdout).toContain(`[new thread]       ${thread}`);
  expect(stdout).toContain(`[goes along]       ${secret.slice(0, 7)}  (add a secret)`);
  expect(server.git('cat-file', '-t', secret)).toBe('commit');
  // What is there is asked for no more.
  expect((await step(home, thread)) && (await home.uwf(['push', '--all'])).code).toBe(0);
});

test('once git has pushed them the thread goes, and one that stands on older code goes at any time', async () => {
  const { home } = createScene();
  const thread = await step(home);
  home.git('checkout', '-q', 'HEAD~1');
  const older = await step(home);
  const first = await home.uwf(['push', '--all']);
  expect(first.code).toBe(1);
  expect(first.stdout).toContain(`[new thread]       ${older}`);
  expect(first.stdout).toContain(`[held]             ${thread}`);
  home.git('push', '-q', 'origin', 'main');
  expect(await home.uwf(['push', '--all'])).toMatchObject({ code: 0, stdout: expect.stringContaining(thread) });
});

test('a commit that the remote has dropped since is not published again', async () => {
  const { server, home } = createScene();
  home.git('push', '-q', 'origin', 'main');
  server.git('update-ref', 'refs/heads/main', home.git('rev-parse', 'HEAD~1'));
  const thread = await step(home);
  await home.says('push --all', 1, `[held]             ${thread}`);
});

test('a ref under refs/threads that is a branch of the code is held like a thread that follows it', async () => {
  const { server, home } = createScene();
  const secret = home.git('rev-parse', 'HEAD');
  home.git('update-ref', 'refs/threads/01KTWEWZ760000000000000000', 'HEAD');
  expect((await home.uwf(['push', '--all'])).code).toBe(1);
  expect(() => server.git('cat-file', '-e', secret)).toThrow('git cat-file -e');
});

test('a thread with a damaged commit that the remote has keeps no other thread from the push', async () => {
  const { home } = createScene();
  home.git('checkout', '-q', 'HEAD~1');
  const thread = await step(home);
  await step(home, thread);
  expect((await home.uwf(['push', '--all'])).code).toBe(0);
  await step(home, thread);
  const other = await step(home);
  const damaged = home.git('rev-parse', `refs/threads/${thread}~2`);
  removeObject(home.dir, damaged);
  const { code, stdout, all } = await home.uwf(['push', '--all']);
  expect({ code, all, stdout }).toMatchObject({
    code: 1,
    stdout: expect.stringContaining(`[new thread]       ${other}`),
  });
  expect(stdout).toContain(`[held]             ${thread}`);
});

test('with --with-commits a secret in a commit of the code holds the thread, and the hint names what helps', async () => {
  const { server, home } = createScene();
  // Not in one piece, so that no search of this repository finds it.
  commit(home, 'key.txt', `key = ${['AKIA', 'QYLPMN5HHHFPZAM2'].join('')}`);
  home.git('rm', '-q', 'key.txt');
  home.git('commit', '-qm', 'without it');
  const thread = await step(home);
  const { code, stdout, stderr } = await home.uwf(['push', '--all', '--with-commits']);
  expect(code).toBe(1);
  expect(stdout).toContain(`[held]             ${thread}`);
  expect(stderr).toContain('a commit of your code that has the secret');
  expect(stderr).toContain('--allow-secrets');
  expect(stderr).not.toMatch(/--with-commits|thread redact/);
  expect(server.git('for-each-ref', 'refs/threads')).toBe('');
  expect((await home.uwf(['push', '--all', '--with-commits', '--allow-secrets'])).code).toBe(0);
});
