import { expect, test } from 'vitest';

import { createRedactor } from '../../src/redaction/create-redactor.ts';
import { contexts, kinds, Letters } from './kinds.ts';

const redactor = createRedactor({ key: Buffer.alloc(32, 7), known: [] });
const rounds = 20;

/** What could be used of a secret: what a mark leaves may be its scheme, its host or its number. */
function lastOf(secret: string): string {
  return secret.split(/[^A-Za-z0-9+_~-]/u).findLast((part) => part.length >= 8) ?? secret;
}

test.each(kinds)('$kind is found in all contexts', ({ make, name }) => {
  for (const inContext of Object.values(contexts)) {
    for (let seed = 1; seed <= rounds; seed++) {
      const secret = make(new Letters(seed));
      const given = inContext(secret, name ?? 'value');
      const { text, hits } = redactor.redactText(given);
      expect(hits.length, given).toBeGreaterThan(0);
      expect(text, given).not.toContain(lastOf(secret));
    }
  }
});
