import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseObjectId, type ObjectId } from '../../src/git/format/object-id.ts';
import { openRepository } from '../../src/git/open-repository.ts';
import { ObjectBatch } from '../../src/git/stores/publish.ts';
import type { Repository } from '../../src/git/repository.ts';
import { openRemote } from '../../src/git/transport/open-remote.ts';
import type { Remote } from '../../src/git/transport/remote.ts';
import { type Claim, findClaim } from '../../src/sync/claims.ts';
import { Claims } from '../../src/worker/claims.ts';
import { createMapRepository } from '../helpers/map-repository.ts';
import { isolatedGitEnvironment, runGit } from '../helpers/temporary-repository.ts';
import { pushThread } from './pushed-thread.ts';

type Scene = Awaited<ReturnType<typeof pushThread>> & { repository: Repository; remote: Remote; claims: Claims };

/** A thread at a host, and a clone whose worker can claim it. */
async function openClaims(): Promise<Scene> {
  const pushed = await pushThread();
  const { dir } = pushed;
  const env = isolatedGitEnvironment;
  const repository = await openRepository(dir, { env });
  const remote = await openRemote(repository, 'origin', { env, cwd: dir, direction: 'push', mayAsk: false });
  const session = '0123456789abcdef';
  const claims = new Claims(repository, remote, { worker: 'w', host: 'h', session, deadlineMs: 2_000 });
  return { ...pushed, repository, remote, claims };
}

test('a claim whose removal the remote refused is removed with the next renewal', async () => {
  const { host, thread, head, repository, claims } = await openClaims();
  const there = (): string[] =>
    runGit(host, ['for-each-ref', '--format=%(refname)', 'refs/uwf/claims']).split('\n').filter(Boolean);

  expect(await claims.take([{ thread, head, losses: [], replaces: null, lost: () => {} }])).toEqual([thread]);
  const hook = join(host, 'hooks', 'pre-receive');
  writeFileSync(hook, '#!/bin/sh\necho not now >&2; exit 1\n');
  chmodSync(hook, 0o755);
  await claims.release([thread]);
  expect(there()).toEqual([`refs/uwf/claims/${thread}`]);

  rmSync(hook);
  await claims.renew();
  expect(there()).toEqual([]);
  expect(claims.threads).toEqual([]);
  await repository.close();
});

test('a claim tells what became of turns of its head until the thread moves, also when it is given back', async () => {
  const { host, thread, head, repository, remote, claims } = await openClaims();
  const name = `refs/uwf/claims/${thread}`;
  const idThere = (): ObjectId | null => {
    const id = runGit(host, ['for-each-ref', '--format=%(objectname)', name]).trim();
    return id === '' ? null : parseObjectId(id);
  };
  const there = async (): Promise<Partial<Claim> | undefined> => findClaim(repository.objects, idThere());
  const take = async (losses: string[]): Promise<void> => {
    expect(await claims.take([{ thread, head, losses, replaces: idThere(), lost: () => {} }])).toEqual([thread]);
  };

  await take(['one']);
  claims.lose(thread, 'two');
  // A renewal that was under way does not take it away.
  await claims.renew();
  await claims.release([thread]);
  expect(await there()).toMatchObject({ head, losses: ['one', 'two'], givenBack: true });
  expect(claims.threads).toEqual([]);

  await take(['one', 'two']);
  expect(await there()).not.toHaveProperty('givenBack');
  const next = parseObjectId('1'.repeat(40));
  await claims.push(thread, { head: next, isLast: false }, async ({ edits, settle }) =>
    settle(await remote.push({ edits, isForward: true })),
  );
  expect(await there()).toMatchObject({ head: next });
  expect(await there()).not.toHaveProperty('losses');
  await claims.release([thread]);
  expect(idThere()).toBeNull();
  await repository.close();
});

test.each(['3', '[3]', '"x"', `["${'x'.repeat(201)}"]`])('a claim with the losses %s is malformed', async (losses) => {
  const repository = createMapRepository();
  const { objects } = repository;
  const claim = { thread: '01KAM4Z0000000000000000000', head: '0'.repeat(40), worker: 'w', host: 'h' };
  const text = JSON.stringify({ ...claim, session: '0123456789abcdef', count: 0, deadlineMs: 1_000, losses: ['x'] });
  const write = async (json: string): Promise<ObjectId> => {
    const batch = new ObjectBatch(objects.format);
    const tree = batch.addTree([{ mode: '100644', name: 'claim.json', id: batch.addBlob(json) }]);
    const id = batch.addOwnCommit({ tree, parents: [], message: 'claim\n' }, 0);
    await objects.write(batch.objects);
    return id;
  };
  expect(await findClaim(objects, await write(text))).toMatchObject({ losses: ['x'] });
  expect(await findClaim(objects, await write(text.replace('["x"]', losses)))).toBeUndefined();
});
