import { describe, expect, test } from 'vitest';
import { suspendCauses } from '../../../src/schema/built-in/thread-suspend.ts';
import type { JsonObject } from '../../../src/json.ts';
import { builtIn, isSuccessor, typeFor, type TypeName } from '../../../src/schema/built-in.ts';

test('a thread is suspended for causes that one of the two schemas knows', () => {
  const causes = ['agent', 'invalid-reply', 'limit', 'timeout', 'human', 'child'];
  const newer = ['permission', 'secret', 'isolation', 'rule', 'interrupted'];
  expect(suspendCauses).toEqual([...causes, ...newer]);
  const needsSuccessor = suspendCauses.filter((cause) => isSuccessor(typeFor('thread-suspend', { cause })));
  expect(needsSuccessor).toEqual(newer);
});

const sha1 = '1'.repeat(40);
const sha256 = '1'.repeat(64);

describe('a successor is the type of a payload', () => {
  test.each<[TypeName, JsonObject]>([
    ['role', { isolation: 'none' }],
    ['role', { needs: ['a'] }],
    ['role', { outputs: {} }],
    ['role', { memo: {} }],
    ['workflow', { blocks: {} }],
    ['workflow', { isolation: 'none' }],
    ['workflow', { moderator: [{ from: 'a' }, { from: 'a', on: 'limit' }] }],
    ['workflow', { limits: { maxTokens: 1, unknownUsage: 'warn' } }],
    ['thread-start', { call: {} }],
    ['thread-start', { base: sha1 }],
    ['thread-start', { redacted: {} }],
    ['thread-step', { redacted: {} }],
    ['thread-step', { isolation: {} }],
    ['thread-step', { merge: {} }],
    ['thread-step', { sandbox: {} }],
    ['thread-step', { prices: {} }],
    ['thread-step', { memo: {} }],
    ['thread-step', { usage: { cacheReadTokens: 0 } }],
    ['thread-step', { workspace: { tree: sha1, missing: {} } }],
    ['thread-step', { workspace: { tree: sha256 } }],
    ['thread-suspend', { due: 0 }],
    ['thread-suspend', { redacted: {} }],
    ['thread-suspend', { usage: { cacheWriteTokens: 0 } }],
    ['thread-suspend', { cause: 'rule' }],
    ['thread-resume', { more: {} }],
    ['thread-resume', { by: 'a' }],
    ['thread-resume', { redacted: {} }],
    ['react-turn', { tokens: { cacheRead: 0 } }],
    ['react-turn', { tokens: { cacheWrite: 0 } }],
    ['attempt', { redacted: {} }],
    ['attempt', { usage: { isAtLeast: true } }],
  ])('that sets a newer field: %s %j', (name, payload) => {
    expect(isSuccessor(typeFor(name, payload))).toBe(true);
  });

  test.each<[TypeName, JsonObject]>([
    ['role', { name: 'a', limits: {} }],
    ['workflow', { moderator: [{ from: 'a', to: 'b' }] }],
    ['workflow', { moderator: [] }],
    ['thread-start', { limits: {} }],
    ['thread-step', { usage: null, workspace: { tree: sha1, commit: sha1 } }],
    ['thread-step', { usage: { turns: 1, costUsd: 1 } }],
    ['thread-suspend', { cause: 'agent' }],
    ['thread-suspend', {}],
    ['thread-resume', { answer: null }],
    ['react-turn', { tokens: { input: 1, output: 1 } }],
    ['attempt', { usage: null }],
    ['agent', { redacted: {}, usage: { isAtLeast: true } }],
    // A payload that was fetched may hold anything.
    ['workflow', { moderator: { on: 'limit' } }],
    ['workflow', { moderator: [null, 'on', ['on']] }],
    ['thread-step', { usage: 'cacheReadTokens', workspace: [sha256] }],
    ['thread-step', { workspace: { tree: [sha256] } }],
    ['thread-step', { workspace: { tree: Array.from({ length: 41 }, () => 1) } }],
    ['thread-step', { workspace: null }],
    ['react-turn', { tokens: null }],
  ])('and not of one without: %s %j', (name, payload) => {
    expect(typeFor(name, payload)).toBe(builtIn[name]);
  });
});
