import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { base32 } from '../../../src/cas/hash.ts';
import { DiskSegments } from '../../../src/cas/lookup/disk-segments.ts';
import { commitSize, nodeSize } from '../../../src/cas/lookup/segment.ts';
import { RecordList } from '../../../src/cas/lookup/sorted-records.ts';
import { failFs } from '../../helpers/failing-fs.ts';
import { createTemporaryFolder } from '../../helpers/temporary-repository.ts';

/** Has the engine collect all that nothing leads to, and gives finalizers their turn. */
async function collectGarbage(): Promise<void> {
  setFlagsFromString('--expose-gc');
  // With the flag, a new context has this function.
  const collect = runInNewContext('gc') as () => void;
  for (let round = 0; round < 3; round += 1) {
    collect();
    await setImmediate();
  }
}

const recordOf = (number: number): Buffer =>
  createHash('sha256').update(`${number}`).digest().subarray(0, nodeSize('sha1'));

test('a large segment stays open for as long as somebody looks into it', async () => {
  const nodes = new RecordList(nodeSize('sha1'));
  // Too many to be kept in memory, both as a file and in pages.
  const count = 200_000;
  for (let number = 0; number < count; number += 1) nodes.add(recordOf(number));
  const commits = new RecordList(commitSize('sha1'));
  const segments = new DiskSegments(createTemporaryFolder());
  segments.add({ format: 'sha1', nodes: nodes.sorted(), commits: commits.sorted() });
  await collectGarbage();
  const [known] = segments.known();
  for (let number = 0; number < count; number += 100) {
    const record = recordOf(number);
    expect(known?.segment.blobsOf(base32(record.readBigUInt64BE(0)))).toEqual([record.toString('hex', 8)]);
  }
});

test('a segment that cannot be opened, as too many files are open, is not taken for a damaged one', () => {
  const folder = createTemporaryFolder();
  const nodes = new RecordList(nodeSize('sha1'));
  const commits = new RecordList(commitSize('sha1'));
  nodes.add(Buffer.alloc(nodeSize('sha1'), 1));
  new DiskSegments(folder).add({ format: 'sha1', nodes: nodes.sorted(), commits: commits.sorted() });
  failFs('openSync', { code: 'EMFILE', where: (path) => path.endsWith('.segment'), times: 1 });
  const store = new DiskSegments(folder);
  expect(() => store.list()).toThrow(expect.objectContaining({ code: 'EMFILE' }));
  expect(store.list()).toHaveLength(1);
});
