import { expect, test } from 'vitest';
import { killArchives } from './torn-archive.ts';

/** At how many of the calls that change the disk an archive is killed. */
const KILLS = Number(process.env['ARCHIVE_KILLS'] ?? 25);

test(`an archive or its push that is killed ${KILLS} times loses no thread`, async () => {
  expect(await killArchives(KILLS)).toBeGreaterThan(KILLS * 0.6);
}, 3_600_000);
