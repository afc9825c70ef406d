import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { RemoteUnreachable } from '../../src/git/transport/git-output.ts';
import { listPointers } from '../../src/thread/find-thread.ts';
import { startGitHttpServer, type Cut, type GitHttpServer } from '../helpers/git-http-server.ts';
import { runTypeScript, type ScriptOutcome } from '../helpers/run-typescript.ts';
import { expectCleanFsck, isolatedGitEnvironment, runGit } from '../helpers/temporary-repository.ts';
import { describeStanding, findLost, reachable, type Ledger } from './clones.ts';
import { openClone, syncClone, tearClones, type TornClones } from './torn-clones.ts';

/** At how many of the calls that change the disk a sync is killed, and after how many bytes each way it is cut. */
const KILLS = Number(process.env['SYNC_KILLS'] ?? 3);
const CUTS = Number(process.env['SYNC_CUTS'] ?? 1);

const script = join(import.meta.dirname, '..', 'faults', 'sync-a-clone.ts');

function runSync(dir: string, faults: Readonly<Record<string, string>>): Promise<ScriptOutcome> {
  const env = { ...isolatedGitEnvironment, UWF_FAULT: 'kill', ...faults };
  return runTypeScript(script, [join(dir, 'ben')], { withFaults: true, env });
}

/** Has Ben's clone find the server by HTTP, where a connection can be cut. */
async function serve(dir: string): Promise<GitHttpServer> {
  runGit(join(dir, 'server.git'), ['config', 'http.receivepack', 'true']);
  const server = await startGitHttpServer(dir);
  runGit(join(dir, 'ben'), ['remote', 'set-url', 'origin', server.urlOf('server.git')]);
  return server;
}

/** One place in each of so many equal parts of a length. */
function spread(parts: number, length: number): number[] {
  return Array.from({ length: parts }, (_, part) => Math.floor(((part + Math.random()) * length) / parts));
}

/** What was acknowledged and lies in Ben's clone, which a sync of his must never lose. */
async function ledgerOfBen({ dir, ledger }: TornClones): Promise<Ledger> {
  const { repository } = await openClone(dir, 'ben');
  const heads = (await listPointers(repository)).map(({ head }) => head);
  const there = await reachable(repository, heads);
  await repository.close();
  return { ...ledger, commits: new Map([...ledger.commits].filter(([id]) => there.has(id))) };
}

async function expectNothingLost(dir: string, name: string, ledger: Ledger): Promise<void> {
  expectCleanFsck(join(dir, name));
  const { repository } = await openClone(dir, name);
  expect(await findLost(repository, ledger)).toEqual([]);
  await repository.close();
}

/** How everybody stands when both have synced again: alike, with all that was acknowledged. */
async function syncBoth(dir: string, { ledger }: TornClones): Promise<string[]> {
  await syncClone(dir, 'ben');
  await syncClone(dir, 'ada');
  const standings: string[][] = [];
  for (const name of ['ada', 'ben']) {
    await expectNothingLost(dir, name, ledger);
    const { repository } = await openClone(dir, name);
    standings.push(await describeStanding(repository, ledger));
    await repository.close();
  }
  expect(standings[0]).toEqual(standings[1]);
  expectCleanFsck(join(dir, 'server.git'));
  const format = '--format=%(refname) %(objectname)';
  return [...(standings[0] ?? []), runGit(join(dir, 'server.git'), ['for-each-ref', format])];
}

/**
 * Names of what only somebody at work may have; what of packs was not finished blocks nobody, and goes with the next
 * collection.
 */
function unfinished(dir: string): string[] {
  const names = readdirSync(join(dir, 'ben', '.git'), { recursive: true, encoding: 'utf8' });
  const inTheWay = /\.(?:lock|new|keep)$|\/tmp_|^uwf\/(?:incoming|snapshots)\/./;
  return names.filter((name) => inTheWay.test(name) && !name.startsWith('objects/pack/tmp_'));
}

describe('a sync that is torn off loses nothing, leaves nothing half there, and the next one completes', () => {
  test(`killed at ${KILLS} of the calls that change the disk`, async () => {
    const torn = await tearClones();
    const bens = await ledgerOfBen(torn);
    const whole = torn.copy();
    const countFile = join(whole, 'calls');
    expect(await runSync(whole, { UWF_FAULT_COUNT: countFile })).toMatchObject({ code: 0, stdout: 'done\n' });
    const calls = Number(readFileSync(countFile, 'utf8'));
    const expected = await syncBoth(whole, torn);
    let killed = 0;
    for (const place of spread(KILLS, calls)) {
      const at = 1 + place;
      const dir = torn.copy();
      const { signal, code } = await runSync(dir, { UWF_FAULT_AT: String(at) });
      if (signal === 'SIGKILL') killed += 1;
      else expect(code).toBe(0);
      expectCleanFsck(join(dir, 'server.git'));
      await expectNothingLost(dir, 'ben', bens);
      expect(await syncBoth(dir, torn), `killed at call ${at}`).toEqual(expected);
      expect(unfinished(dir), `killed at call ${at}`).toEqual([]);
    }
    // One sync waits for a lock more often than another; otherwise all make the same calls.
    expect(killed).toBeGreaterThan(KILLS * 0.6);
  }, 1_200_000);

  test(`cut off after ${CUTS} numbers of bytes each way`, async () => {
    const torn = await tearClones();
    const bens = await ledgerOfBen(torn);
    const whole = torn.copy();
    const wholeServer = await serve(whole);
    await syncClone(whole, 'ben');
    const bytes = { up: 0, down: 0 };
    for (const { received, sent } of wholeServer.requests) {
      bytes.up += received;
      bytes.down += sent;
    }
    const expected = await syncBoth(whole, torn);
    const cuts = (['up', 'down'] as const).flatMap((direction) =>
      spread(CUTS, bytes[direction]).map((afterBytes): Cut => ({ direction, afterBytes })),
    );
    let done = 0;
    for (const cut of cuts) {
      const dir = torn.copy();
      const server = await serve(dir);
      server.cut(cut);
      const error: unknown = await syncClone(dir, 'ben').then(
        () => undefined,
        (reason: unknown) => reason,
      );
      if (server.hasCut) {
        done += 1;
        expect(error).toBeInstanceOf(RemoteUnreachable);
      } else expect(error).toBeUndefined();
      server.cut(undefined);
      expectCleanFsck(join(dir, 'server.git'));
      await expectNothingLost(dir, 'ben', bens);
      expect(await syncBoth(dir, torn), `cut ${cut.direction} after ${cut.afterBytes} bytes`).toEqual(expected);
      expect(unfinished(dir)).toEqual([]);
      await server.close();
    }
    expect(done).toBeGreaterThan(cuts.length * 0.9 - 1);
  }, 1_200_000);
});
