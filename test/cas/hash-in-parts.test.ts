import { beforeAll, expect, test } from 'vitest';
import { base32, deterministicCbor, digest, hashNode, prepareHashing } from '../../src/cas/hash.ts';
import { CONTENT_TYPE } from '../../src/cas/node-hash.ts';

beforeAll(prepareHashing);

test.each([65_000, 65_521, 65_536, 65_537, 131_072, 200_001, 1_000_003])(
  'the hash of a text of %i bytes, which is computed in parts, is that of its bytes as a whole',
  (bytes) => {
    const payload = { text: 'an even longer text; '.repeat(bytes / 21 + 1).slice(0, bytes) };
    const whole = Buffer.concat([Buffer.from(CONTENT_TYPE), deterministicCbor(payload)]);
    expect(hashNode(CONTENT_TYPE, payload)).toBe(base32(digest(whole)));
  },
);
