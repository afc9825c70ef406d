import { writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseObjectId, type ObjectId } from '../../../src/git/format/object-id.ts';
import { listRemoteRefs } from '../../../src/git/transport/git-output.ts';
import { startGitHttpServer, type GitHttpServer } from '../../helpers/git-http-server.ts';
import {
  createTemporaryFolder,
  createTemporaryRepository,
  isolatedGitEnvironment,
  runGit,
  type TemporaryRepository,
} from '../../helpers/temporary-repository.ts';
import { connectTo, type NativeSide } from './remote-scene.ts';

const HISTORY = 2_000;

/** A bare repository with a commit, to which refs of these names and of many ended threads point. */
function createServer(...names: string[]): TemporaryRepository & { id: ObjectId } {
  const server = createTemporaryRepository({ bare: true });
  const id = parseObjectId(server.git('commit-tree', '-m', 'x', runGit(server.dir, ['mktree']).trim()));
  const ended = Array.from({ length: HISTORY }, (_, at) => `refs/history/2026-11-${(at % 20) + 10}/t${at}`);
  runGit(server.dir, ['update-ref', '--stdin'], [...ended, ...names].map((name) => `create ${name} ${id}\n`).join(''));
  server.git('pack-refs', '--all');
  return { ...server, id };
}

async function serve(server: TemporaryRepository, refPrefix?: string): Promise<NativeSide & { http: GitHttpServer }> {
  const http = await startGitHttpServer(dirname(server.dir));
  return { ...(await connectTo(http.urlOf(basename(server.dir)), {}, refPrefix)), http };
}

function bytesOf({ requests }: GitHttpServer): number {
  return requests.reduce((sum, { sent, received }) => sum + sent + received, 0);
}

/** A program in place of ssh that runs a shell script, in which `$command` is what git runs at the other side. */
function sshOf(script: string): Record<string, string> {
  const program = join(createTemporaryFolder(), 'ssh');
  writeFileSync(program, `#!/bin/sh\nfor command in "$@"; do :; done\n${script}\n`, { mode: 0o755 });
  return { GIT_SSH_COMMAND: program, GIT_SSH_VARIANT: 'simple' };
}

describe('a list of few refs of a remote that has many', () => {
  test('has the server send those alone, and no object', async () => {
    const server = createServer('refs/threads/a', 'refs/threads/ab', 'refs/uwf/claims/a', 'refs/heads/main');
    const { remote, http, files } = await serve(server);
    const before = files();
    const { id } = server;
    const asks: [string[], string[], number][] = [
      [['refs/threads/a'], ['refs/threads/a'], 1_000],
      [['refs/threads/none'], [], 1_000],
      [['refs/threads/*', 'refs/uwf/claims/*'], ['refs/threads/a', 'refs/threads/ab', 'refs/uwf/claims/a'], 1_000],
      [['refs/threads/*', 'refs/history/2026-11-31/*'], ['refs/threads/a', 'refs/threads/ab'], 1_000],
    ];
    for (const [patterns, names, most] of asks) {
      http.forget();
      expect(await remote.list(patterns)).toEqual(names.map((name) => ({ name, id })));
      expect(bytesOf(http), patterns.join(' ')).toBeLessThan(most);
      expect(http.requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
    }
    expect(files()).toEqual(before);
  });

  test('costs as little below a prefix', async () => {
    const server = createServer('refs/heads/uwf/threads/a', 'refs/heads/uwf/uwf/claims/a', 'refs/threads/b');
    const { remote, http } = await serve(server, 'refs/heads/uwf/');
    const listed = await remote.list(['refs/threads/*', 'refs/uwf/claims/*']);
    expect(listed.map(({ name }) => name)).toEqual(['refs/threads/a', 'refs/uwf/claims/a']);
    expect(bytesOf(http)).toBeLessThan(1_000);
  });

  test('is what git ls-remote gives, under unpleasant names too', async () => {
    const names = [
      "'q'",
      '"$(false)"',
      '-',
      '-x',
      'a/-',
      'ü',
      '\u{1f600}7',
      'x'.repeat(200),
      '%2e',
      'a/b/c',
      'HEAD',
      'ü1',
    ];
    const server = createServer(...names.map((name) => `refs/threads/${name}`), 'refs/threads2/x');
    for (const { repository, remote } of [await serve(server), await connectTo(server.dir)]) {
      const { location } = repository;
      if (location === undefined) throw new Error('it is on a disk');
      const run = { location, env: isolatedGitEnvironment };
      for (const patterns of [
        ['refs/threads/*'],
        ['refs/threads/ü*', 'refs/threads/a/-'],
        ['refs/history/*'],
        ['refs/t*'],
      ]) {
        expect(await remote.list(patterns)).toEqual(await listRemoteRefs(run, remote.url, patterns));
      }
    }
  });

  test.each([
    ['of an older version, which knows no prefixes', 'unset GIT_PROTOCOL; exec sh -c "$command"'],
    ['of this version', 'exec sh -c "$command"'],
  ])('is the same from a server %s', async (_, script) => {
    const server = createServer('refs/threads/a');
    const { remote } = await connectTo(`ssh://host${server.dir}`, sshOf(script));
    expect(await remote.list(['refs/threads/*'])).toEqual([{ name: 'refs/threads/a', id: server.id }]);
  });

  test('is given up where its trace takes too much of the disk, and leaves nothing', async () => {
    const encode = (line: string): string => `${(Buffer.byteLength(line) + 5).toString(16).padStart(4, '0')}${line}`;
    const begin = ['version 2', 'ls-refs', 'object-format=sha1'].map((line) => `${encode(line)}\n`).join('');
    // git writes such a letter with 24 characters in its trace.
    const path = join(createTemporaryFolder(), 'ref');
    writeFileSync(path, encode(`${'0123456789'.repeat(4)} refs/threads/${'ü'.repeat(30_000)}`));
    const script = `printf '%s0000' '${begin}'; head -c 16 >/dev/null; exec yes "$(cat '${path}')"`;
    const { remote, files } = await connectTo('ssh://host/x', sshOf(script));
    const before = files();
    await expect(remote.list(['refs/threads/*'])).rejects.toThrow(
      /cannot be reached: .* 96 MiB, or of refs without end/,
    );
    expect(files()).toEqual(before);
  });
});
