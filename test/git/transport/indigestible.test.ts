import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { RemoteSide } from '../../contracts/remote-fixture.ts';
import {
  createTemporaryRepository,
  isolatedGitEnvironment,
  runGit,
  type TemporaryRepository,
} from '../../helpers/temporary-repository.ts';
import { connectTo } from './remote-scene.ts';

const sound = Array.from({ length: 9 }, (_, at) => `refs/threads/sound${at}`);
const packet = (text: string): string => (text.length + 4).toString(16).padStart(4, '0') + text;

/** A repository with sound threads, and two that it has lost something of. */
function createDamaged(): TemporaryRepository {
  const server = createTemporaryRepository({ bare: true });
  const { dir, git } = server;
  const lose = (id: string): void => rmSync(join(dir, 'objects', id.slice(0, 2), id.slice(2)));
  const addThread = (name: string): { file: string; tree: string } => {
    const file = runGit(dir, ['hash-object', '-w', '--stdin'], name);
    const tree = runGit(dir, ['mktree'], `100644 blob ${file}\tfile\n`);
    git('update-ref', name, git('commit-tree', '-m', name, tree));
    return { file, tree };
  };
  for (const name of sound) addThread(name);
  lose(addThread('refs/threads/lost-file').file);
  lose(addThread('refs/threads/lost-tree').tree);
  return server;
}

/**
 * Serves a repository by git's own upload-pack, but tells of more refs than it has, in the protocol's version 0, which every
 * git falls back to. @returns its URL
 */
async function serveTelling({ dir, git }: TemporaryRepository, more: readonly string[]): Promise<string> {
  const refs = [...git('for-each-ref', '--format=%(objectname) %(refname)').split('\n'), ...more];
  const lines = refs.map((line, at) => packet(`${line}${at === 0 ? '\0side-band-64k ofs-delta no-progress' : ''}\n`));
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const isList = request.method === 'GET';
    response.setHeader('Content-Type', `application/x-git-upload-pack-${isList ? 'advertisement' : 'result'}`);
    if (isList) return void response.end(`${packet('# service=git-upload-pack\n')}0000${lines.join('')}0000`);
    const args = ['upload-pack', '--stateless-rpc', dir];
    const child = spawn('git', args, { env: isolatedGitEnvironment, stdio: ['pipe', 'pipe', 'ignore'] });
    child.stdin.on('error', () => {});
    request.pipe(child.stdin);
    child.stdout.pipe(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void (server.closeAllConnections(), server.close()));
  // It listens on TCP, so the address is of this kind.
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/remote`;
}

/** Fetches everything. @returns the names of what came, and of what did not */
async function fetchAll({ remote, files }: RemoteSide): Promise<{ came: string[]; absent: string[] }> {
  const before = files();
  const incoming = await remote.fetch({ refs: ['refs/threads/*'] });
  const [came, absent]: [string[], string[]] = [[], []];
  for (const { name, id } of incoming.refs) ((await incoming.objects.has(id)) ? came : absent).push(name);
  await incoming.discard();
  expect(files()).toEqual(before);
  return { came: came.toSorted(), absent: absent.toSorted() };
}

describe('what a remote has told of and cannot send', () => {
  test('keeps nothing else away from a folder', async () => {
    const side = await connectTo(pathToFileURL(createDamaged().dir).href);
    const lost = ['refs/threads/lost-file', 'refs/threads/lost-tree'];
    expect(await fetchAll(side)).toEqual({ came: sound, absent: lost });
  });

  test('keeps nothing else away over HTTP', async () => {
    const server = createDamaged();
    const id = server.git('rev-parse', 'refs/threads/sound0');
    const nowhere = 'refs/threads/nowhere';
    // Names that no ref can have must not be asked for when the search has to ask once more.
    const strange = [`${id} refs/threads/../../config`, `${id} refs/threads/sound0/x`];
    const side = await connectTo(await serveTelling(server, [`${'dead'.repeat(10)} ${nowhere}`, ...strange]));
    const { came, absent } = await fetchAll(side);
    expect(came).toEqual(expect.arrayContaining(sound));
    expect(absent).toEqual(['refs/threads/lost-file', 'refs/threads/lost-tree', nowhere]);
  });
});
