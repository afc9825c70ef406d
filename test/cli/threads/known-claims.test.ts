import { expect, test } from 'vitest';
import { describeClaim, reasonOf } from '../../../src/cli/threads/known-claims.ts';
import type { KnownClaim } from '../../../src/sync/claims.ts';

const claim: KnownClaim = {
  role: null,
  remote: 'origin',
  worker: 'box',
  host: 'machine',
  stoppedBy: null,
  reason: null,
  held: null,
  seenAt: '2026-11-21T12:00:00.000Z',
};
const describe = (fields: Partial<KnownClaim>): string =>
  describeClaim({ ...claim, ...fields }, Date.parse('2026-11-21T12:05:00Z'));

test('a claim is told by its worker, its machine and what it holds back', () => {
  expect(describe({})).toBe('box on machine, at origin, as a fetch saw it 5 minutes ago');
  expect(describe({ held: 'a\nsecret', seenAt: null })).toBe(
    'box on machine, at origin; it holds a step back: a secret',
  );
});

test('a claim that stops the work says who stopped it, and why where that was no person', () => {
  expect(describe({ stoppedBy: 'Ada' })).toBe('stopped at origin by Ada, as a fetch saw it 5 minutes ago');
  const reason = '5 workers fell\nsilent';
  expect(describe({ stoppedBy: 'm0', reason, seenAt: null })).toBe('stopped at origin by m0: 5 workers fell silent');
  expect([reasonOf(null), reasonOf(reason)]).toEqual(['', ': 5 workers fell silent']);
});
