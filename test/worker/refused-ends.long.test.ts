import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { readingContext } from '../../src/engine/engine-context.ts';
import { UwfError } from '../../src/errors.ts';
import { openRepository } from '../../src/git/open-repository.ts';
import type { ObjectId } from '../../src/git/format/object-id.ts';
import type { Repository } from '../../src/git/repository.ts';
import { openRemote } from '../../src/git/transport/open-remote.ts';
import { RemoteUnreachable } from '../../src/git/transport/git-output.ts';
import type { Remote } from '../../src/git/transport/remote.ts';
import { claimRef, findClaim } from '../../src/sync/claims.ts';
import { pushThreads, syncThreads } from '../../src/sync/push-threads.ts';
import { getThread } from '../../src/thread/find-thread.ts';
import { activeRef, type ThreadId } from '../../src/thread/thread-id.ts';
import { Claims } from '../../src/worker/claims.ts';
import type { JobFinder } from '../../src/worker/find-jobs.ts';
import { takeTurns } from '../../src/worker/take-turn.ts';
import type { TurnLock } from '../../src/worker/turn-queue.ts';
import type { TurnWorld } from '../../src/worker/publisher.ts';
import { startGitHttpServer, type GitHttpServer } from '../helpers/git-http-server.ts';
import {
  createTemporaryFolder,
  createTemporaryRepository,
  isolatedGitEnvironment as env,
  runGit,
} from '../helpers/temporary-repository.ts';
import { act, createLedger } from '../sync/clones.ts';
import { startLoop } from '../thread/thread-fixture.ts';

/** How many threads end. A campaign by hand takes more. */
const ENDS = Number(process.env['SUITE_REFUSED_ENDS'] ?? 60);

/** A host, and a clone with a remote that leads there. */
type Scene = { host: string; http: GitHttpServer | undefined; repository: Repository; remote: Remote };

/** Breaks a host. @returns what mends it */
type Fault = (scene: Scene, n: number) => () => void;

const isDeletion = 'case $3 in *[!0]*) ;; *)';

/** Gives a host a hook until it is mended. */
function hook(name: string, script: string): Fault {
  return ({ host }) => {
    const path = join(host, 'hooks', name);
    writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    return () => rmSync(path, { force: true });
  };
}

function setting(name: string, value: string): Fault {
  return ({ host }) => {
    runGit(host, ['config', name, value]);
    return () => void runGit(host, ['config', '--unset', name]);
  };
}

function together(...faults: readonly Fault[]): Fault {
  return (scene, n) => {
    const mends = faults.map((fault) => fault(scene, n));
    return () => mends.forEach((mend) => mend());
  };
}

/** Has a host lose the commit of a ref that no clone has. */
function loseTipOf(name: string): Fault {
  return ({ host }, n) => {
    const tree = runGit(host, ['mktree'], '').trim();
    const commit = runGit(host, ['commit-tree', '-m', `lost ${n}`, tree]).trim();
    runGit(host, ['update-ref', name, commit]);
    rmSync(join(host, 'objects', commit.slice(0, 2), commit.slice(2)));
    return () => void runGit(host, ['update-ref', '-d', name]);
  };
}

/** The n-th change of refs, or the moment after it, ends the process that makes it. What it has locked stays locked until then. */
const dies: Fault = (scene, n) => {
  const { host } = scene;
  const [count, state] = [join(host, 'count'), n % 2 === 0 ? 'prepared' : 'committed'];
  const isIt = `[ "$(wc -c < ${count})" = ${1 + (Math.floor(n / 2) % 3)} ]`;
  const script = `if [ "$1" = ${state} ]; then printf x >> ${count}; ${isIt} && kill -9 $PPID; fi; exit 0`;
  const mend = hook('reference-transaction', script)(scene, n);
  return () => {
    mend();
    rmSync(count, { force: true });
    const locks = readdirSync(host, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.lock'));
    for (const name of locks) rmSync(join(host, name));
  };
};

/** The host is elsewhere as soon as it has taken the first push. */
const leaves: Fault = (scene, n) => {
  const mend = hook('post-receive', 'mv "$PWD" "$PWD.away"')(scene, n);
  return () => {
    if (existsSync(`${scene.host}.away`)) renameSync(`${scene.host}.away`, scene.host);
    mend();
  };
};

/** The host goes back to what it had before it said that it has made the first history ref. */
const forgets: Fault = (scene, n) => {
  const forgot = join(scene.host, 'forgot');
  const forget = `case $name in */history/*) touch ${forgot}; git update-ref -d $name ;; esac`;
  const mend = hook('post-receive', `[ -e ${forgot} ] || while read old new name; do ${forget}; done`)(scene, n);
  return () => {
    mend();
    rmSync(forgot, { force: true });
  };
};

const faults: Readonly<Record<string, Fault>> = {
  'has lost the commit of a branch': loseTipOf('refs/heads/lost'),
  'has lost the commit of another thread': loseTipOf('refs/threads/01KAM40000000000000000000Z'),
  'has lost the commit of a tag': loseTipOf('refs/tags/v0'),
  'takes no end': hook('update', 'case $1 in */history/*) exit 1 ;; esac'),
  'takes no change of an active thread': hook('update', 'case $1 in */threads/*) exit 1 ;; esac'),
  'deletes nothing': hook('update', `${isDeletion} echo kept >&2; exit 1 ;; esac`),
  'deletes no active thread': hook('update', `${isDeletion} case $1 in */threads/*) exit 1 ;; esac ;; esac`),
  'deletes no claim': hook('update', `${isDeletion} case $1 in */claims/*) exit 1 ;; esac ;; esac`),
  'takes no claim': hook('update', 'case $1 in */claims/*) exit 1 ;; esac'),
  'takes no push with an end': hook('pre-receive', 'case "$(cat)" in */history/*) exit 1 ;; esac'),
  'takes no push': hook('pre-receive', 'exit 1'),
  'denies deletions': setting('receive.denyDeletes', 'true'),
  'is not atomic, and takes no end': together(
    setting('receive.advertiseAtomic', 'false'),
    hook('update', 'case $1 in */history/*) exit 1 ;; esac'),
  ),
  'dies in a push': dies,
  'leaves after a push': leaves,
  'forgets an end': forgets,
};

const cuts: Fault = ({ http }, n) => {
  http?.cut({ direction: n % 2 === 0 ? 'up' : 'down', afterBytes: (n * 977) % 4_000 });
  return () => http?.cut(undefined);
};

async function createScene(isHttp: boolean, prefix: string | undefined): Promise<Scene> {
  const root = createTemporaryFolder();
  const host = join(root, 'host.git');
  mkdirSync(host);
  runGit(host, ['init', '-q', '--bare', '.']);
  runGit(host, ['config', 'http.receivepack', 'true']);
  const http = isHttp ? await startGitHttpServer(dirname(host)) : undefined;
  const clone = createTemporaryRepository();
  clone.git('remote', 'add', 'origin', http?.urlOf(basename(host)) ?? host);
  if (prefix !== undefined) clone.git('config', 'remote.origin.uwfPrefix', prefix);
  const repository = await openRepository(clone.dir, { env, now: Date.now });
  const remote = await openRemote(repository, 'origin', { env, direction: 'push' });
  return { host, http, repository, remote };
}

/** The refs of a thread and its claim at a host, wherever that is now: kinds and commits. */
function refsThere({ host }: Scene, thread: ThreadId): [kind: string, id: string][] {
  const at = existsSync(host) ? host : `${host}.away`;
  return runGit(at, ['for-each-ref', '--format=%(refname) %(objectname)'])
    .split('\n')
    .filter((line) => line.includes(thread))
    .map((line) => [/threads|history|claims/.exec(line)?.[0] ?? line, line.slice(line.indexOf(' ') + 1)]);
}

/** Tells whether a host has a commit below the active ref of a thread, or below its history ref. */
function isKept(scene: Scene, thread: ThreadId, head: ObjectId): boolean {
  const at = existsSync(scene.host) ? scene.host : `${scene.host}.away`;
  return refsThere(scene, thread).some(
    ([kind, id]) => kind !== 'claims' && runGit(at, ['rev-list', id]).split('\n').includes(head),
  );
}

/**
 * What a worker does with a thread that has ended here and is active there, each time that it meets it. It has claimed the thread, as
 * far as it is active.
 * @param away is called when it finds that the remote is away
 */
async function work(scene: Scene, thread: ThreadId, away: () => void): Promise<() => Promise<void>> {
  const { repository, remote } = scene;
  const claims = new Claims(repository, remote, {
    worker: 'w',
    host: 'h',
    session: '0123456789abcdef',
    deadlineMs: 60_000,
  });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Nothing else of it is used where no turn is wanted.
  const finder = { isWantedAt: async () => false, canGoOn: async () => false } as unknown as JobFinder;
  const world: TurnWorld = {
    ...scene,
    identity: { worker: 'w', host: 'h' },
    context: readingContext(repository),
    finder,
    openEngine: () => expect.unreachable(),
    sync: { env },
    goesOn: () => true,
    onEvent: () => {},
    onPublished: async () => {},
    onTrouble: (trouble) => void (trouble instanceof RemoteUnreachable && away()),
    onUnable: () => {},
  };
  const fence: TurnLock['fence'] = {
    push: (isLast, send) => claims.push(thread, isLast, send),
    hold: (reason) => claims.hold(thread, reason),
  };
  const claim = async (): Promise<ObjectId | undefined> => {
    const refs = await remote.list([activeRef(thread), claimRef(thread)]);
    const [head, id] = [activeRef(thread), claimRef(thread)].map((name) => refs.find((ref) => ref.name === name)?.id);
    const left = claims.has(thread) ? undefined : await findClaim(repository.objects, id);
    if (head !== undefined && !claims.has(thread))
      await claims.take([{ thread, head, losses: [], replaces: id ?? null, lost: () => {} }]);
    // Of a worker that has died.
    else if (id !== undefined && left !== undefined) await claims.sweep([{ thread, id, claim: left }]);
    return head;
  };
  await claim();
  return async () => {
    const head = await claim();
    const lock = { signal: new AbortController().signal, losses: [], lose: () => {}, fence };
    if (head !== undefined) await takeTurns(world, { remote: 'origin', thread, head, needs: [] }, lock);
    if (head === undefined || !claims.isOnHold(thread)) await claims.release([thread]);
  };
}

test.each([
  ['a folder', false, undefined],
  ['http', true, undefined],
  ['http, below branches', true, 'refs/heads/uwf/'],
])(
  'of ends that are pushed to hosts that refuse in part none vanishes, and each is published in the end: %s',
  async (_, isHttp, prefix) => {
    const scene = await createScene(isHttp, prefix);
    const { repository, remote } = scene;
    const clone = { repository, remote };
    const all: [string, Fault][] = [
      ...Object.entries(faults),
      ...(isHttp ? [['is cut', cuts] as [string, Fault]] : []),
    ];
    /** How often a host had which refs of a thread before it was mended. */
    const states = new Map<string, number>();
    for (let n = 0; n < ENDS / 3; n += 1) {
      const [name, fault] = all[n % all.length]!;
      const who = ['worker', 'worker that is started again', 'person', 'person who syncs'][
        (n + Math.floor(n / all.length)) % 4
      ]!;
      const { id: thread } = await startLoop(repository);
      await act(clone, { clone: 0, kind: 'append', pick: 0 }, createLedger());
      await pushThreads({ repository }, remote, { env });
      const { head } = await getThread(repository, thread);
      const what = `${n}: a host that ${name}, and a ${who}`;
      let mend: (() => void) | undefined;
      let half = '';
      const look = (): void => {
        if (mend === undefined) return;
        half = refsThere(scene, thread)
          .map(([kind]) => kind)
          .toSorted()
          .join(' ');
        expect({ what, isKept: isKept(scene, thread, head) }).toEqual({ what, isKept: true });
        states.set(half, (states.get(half) ?? 0) + 1);
        mend();
        mend = undefined;
      };
      const meet = who.startsWith('worker') ? await work(scene, thread, look) : undefined;
      await act(clone, { clone: 0, kind: 'end', pick: 0 }, createLedger());
      const { head: end } = await getThread(repository, thread);
      mend = fault(scene, n);
      const push = who === 'person' ? pushThreads : syncThreads;
      const publish = async (): Promise<unknown> =>
        meet?.() ?? push({ repository }, remote, { env, threads: [thread] });
      await publish().catch(asRefusal);
      look();
      if (who === 'worker that is started again') await (await work(scene, thread, expect.unreachable))();
      else await publish();
      expect({ what, half, refs: refsThere(scene, thread) }).toEqual({ what, half, refs: [['history', end]] });
    }
    // Each state was there: before the end, after it, and between the two.
    expect([...states.keys()]).toEqual(expect.arrayContaining(['threads', 'history threads', 'history']));
    await repository.close();
  },
  1_800_000,
);

function asRefusal(error: unknown): void {
  if (!(error instanceof UwfError)) throw error;
}
