import { describe, expect, test } from 'vitest';

import { costCountingOf, nameOfSession, readSessionName, SessionCost } from '../../../src/agent/acp/usage.ts';

const left = (costUsd?: number): { id: string; costUsd: number | undefined } => ({ id: 's', costUsd });

describe('the cost of a prompt', () => {
  test('is what the sum has grown by, within one process', () => {
    const cost = new SessionCost('unknown', undefined);
    expect(cost.share(0.0117)).toEqual({ costUsd: 0.0117 });
    expect(cost.share(0.02106)).toEqual({ costUsd: 0.00936 });
    expect(cost.usd).toBe(0.02106);
  });

  test.each([
    ['sum', 0.5, 0.7, { costUsd: 0.2 }],
    ['sum', 0.5, 0.5, { costUsd: 0 }],
    // What was told last was not written down before the process ended.
    ['sum', 0.5, 0.4, { isAtLeast: true }],
    ['sum', undefined, 0.7, { isAtLeast: true }],
    ['anew', 0.5, 0.7, { costUsd: 0.7 }],
    ['anew', undefined, 0.7, { costUsd: 0.7 }],
    ['unknown', 0.5, 0.7, { costUsd: 0.2, isAtLeast: true }],
    ['unknown', 0.5, 0.4, { costUsd: 0.4 }],
  ] as const)('counted as %s in a session that was left at %s, and told as %s', (counting, before, told, share) => {
    const cost = new SessionCost(counting, left(before));
    expect(cost.share(told)).toEqual(share);
    expect(cost.share(told + 1)).toEqual({ costUsd: 1 });
  });

  test('is unknown where it was told before and is not now, and comes with the next one', () => {
    const cost = new SessionCost('sum', left(1));
    expect(cost.share(undefined)).toEqual({ isAtLeast: true });
    expect(cost.share(3)).toEqual({ costUsd: 2 });
    expect(new SessionCost('sum', undefined).share(undefined)).toEqual({});
  });
});

test('how an agent counts is known by what it calls itself', async () => {
  const name = '@agentclientprotocol/claude-agent-acp';
  expect(await costCountingOf({ name, version: '0.49.0' })).toBe('anew');
  expect(await costCountingOf({ name, version: '0.101.0' })).toBe('sum');
  expect(await costCountingOf({ name: 'OpenCode', version: '1.18.33' })).toBe('sum');
  expect(await costCountingOf({ name: 'another', version: '1.0.0' })).toBe('unknown');
  expect(await costCountingOf(undefined)).toBe('unknown');
});

test.each([left(), left(0.25), { id: '{"id":"x"}', costUsd: undefined }])('%j keeps its name', (session) => {
  expect(readSessionName(nameOfSession(session))).toEqual(session);
});

test('the name of a session of an older version is its id', () => {
  expect(readSessionName('ses_1')).toEqual({ id: 'ses_1', costUsd: undefined });
  expect(readSessionName('12')).toEqual({ id: '12', costUsd: undefined });
});
