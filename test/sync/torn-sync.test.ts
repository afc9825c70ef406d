import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { RemoteUnreachable } from '../../src/git/remote-errors.ts';
import { listPointers } from '../../src/thread/find-thread.ts';
import { startGitHttpServer } from '../helpers/git-http-server.ts';
import { runTypeScript, type ScriptOutcome } from '../helpers/run-typescript.ts';
import { expectCleanFsck, isolatedGitEnvironment, runGit } from '../helpers/temporary-repository.ts';
import { describeStanding, findLost, reachable, type Ledger } from './clones.ts';
import { openClone, syncClone, tearClones, type TornClones } from './torn-clones.ts';

/** At how many of the calls that change the disk a sync is killed, and after how many bytes each way it is cut. */
const KILLS = Number(process.env['SYNC_KILLS'] ?? 3);
const CUTS = Number(process.env['SYNC_CUTS'] ?? 1);

/** About as many calls as a sync makes in the scene, and about as many bytes as go each way. */
const CALLS = 330;
const BYTES = { up: 8_000, down: 12_000 };

const script = join(import.meta.dirname, '..', 'faults', 'sync-a-clone.ts');

function runSync(dir: string, killAt: number): Promise<ScriptOutcome> {
  const env = { ...isolatedGitEnvironment, UWF_FAULT: 'kill', UWF_FAULT_AT: String(killAt) };
  return runTypeScript(script, [join(dir, 'ben')], { withFaults: true, env });
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

/** Names of what only somebody at work may have; packs that were torn off block nobody, and go with the next collection. */
function unfinished(dir: string): string[] {
  const names = readdirSync(join(dir, 'ben', '.git'), { recursive: true, encoding: 'utf8' });
  const inTheWay = /\.(?:lock|new)$|\/tmp_|^uwf\/(?:incoming|snapshots)\/./;
  return names.filter((name) => inTheWay.test(name) && !name.startsWith('objects/pack/'));
}

describe('a sync that is torn off loses nothing, leaves nothing half there, and the next one completes', () => {
  test(`killed at ${KILLS} of the calls that change the disk`, async () => {
    const torn = await tearClones();
    const bens = await ledgerOfBen(torn);
    const whole = torn.copy();
    expect(await runSync(whole, 0)).toMatchObject({ code: 0, stdout: 'done\n' });
    const expected = await syncBoth(whole, torn);
    let killed = 0;
    for (let number = 0; number < KILLS; number += 1) {
      const at = 1 + Math.floor(((number + Math.random()) * CALLS) / KILLS);
      const dir = torn.copy();
      const { signal, code } = await runSync(dir, at);
      if (signal === 'SIGKILL') killed += 1;
      else expect(code).toBe(0);
      expectCleanFsck(join(dir, 'server.git'));
      await expectNothingLost(dir, 'ben', bens);
      expect(await syncBoth(dir, torn), `killed at call ${at}`).toEqual(expected);
      expect(unfinished(dir), `killed at call ${at}`).toEqual([]);
    }
    expect(killed).toBeGreaterThan(KILLS * 0.6);
  }, 1_200_000);

  test(`cut off after ${CUTS} numbers of bytes each way`, async () => {
    const torn = await tearClones();
    const bens = await ledgerOfBen(torn);
    const whole = torn.copy();
    const expected = await syncBoth(whole, torn);
    let cut = 0;
    for (let number = 0; number < 2 * CUTS; number += 1) {
      const direction = number % 2 === 0 ? 'up' : 'down';
      const afterBytes = Math.floor(((number / 2 + Math.random()) * BYTES[direction]) / CUTS);
      const dir = torn.copy();
      runGit(join(dir, 'server.git'), ['config', 'http.receivepack', 'true']);
      const server = await startGitHttpServer(dir);
      runGit(join(dir, 'ben'), ['remote', 'set-url', 'origin', server.urlOf('server.git')]);
      server.cut({ direction, afterBytes });
      const error: unknown = await syncClone(dir, 'ben').then(
        () => undefined,
        (reason: unknown) => reason,
      );
      if (server.hasCut) {
        cut += 1;
        expect(error).toBeInstanceOf(RemoteUnreachable);
      } else expect(error).toBeUndefined();
      server.cut(undefined);
      expectCleanFsck(join(dir, 'server.git'));
      await expectNothingLost(dir, 'ben', bens);
      expect(await syncBoth(dir, torn), `cut ${direction} after ${afterBytes} bytes`).toEqual(expected);
      expect(unfinished(dir)).toEqual([]);
      await server.close();
    }
    expect(cut).toBeGreaterThanOrEqual(CUTS);
  }, 1_200_000);
});
