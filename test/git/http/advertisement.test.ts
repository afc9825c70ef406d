import { expect, test } from 'vitest';
import { readAdvertisement } from '../../../src/git/http/advertisement.ts';
import { encodePacket, flushPacket, PacketReader } from '../../../src/git/http/pkt-line.ts';

const id = '0123456789'.repeat(4);

/** Lists refs until nobody listens any more; counts what was asked for. */
async function* endless(name: string, sent: { bytes: number }): AsyncGenerator<Buffer> {
  yield Buffer.concat([
    encodePacket('# service=git-upload-pack\n'),
    flushPacket,
    encodePacket(`${id} ${name}\0 ofs-delta\n`),
  ]);
  const chunk = Buffer.concat(Array.from({ length: 100 }, () => encodePacket(`${id} ${name}\n`)));
  for (;;) {
    sent.bytes += chunk.byteLength;
    yield chunk;
  }
}

test.each([
  ['short names', 'refs/threads/01ARZ3NDEKTSV4RRFFQ69G5FAV'],
  ['long names', `refs/threads/${'x'.repeat(60_000)}`],
])('a list without end of %s is stopped', async (_, name) => {
  const sent = { bytes: 0 };
  const refs: string[] = [];
  const reading = readAdvertisement(new PacketReader(endless(name, sent)), 'git-upload-pack', (ref) =>
    refs.push(ref.name),
  );
  await expect(reading).rejects.toThrow('refs without end');
  expect(sent.bytes).toBeLessThan(64 * 1024 * 1024);
});
