import { describe, expect, test } from 'vitest';

import {
  decidePermission,
  matchesGlob,
  type PermissionAnswer,
  type Permissions,
} from '../../../src/agent/acp/permissions.ts';

const cwd = '/project/tree';

function decide(permissions: Permissions | undefined, kind: string, ...paths: string[]): PermissionAnswer {
  return decidePermission(permissions, { kind, paths }, cwd);
}

describe('without a configuration', () => {
  test.each([
    ['read', ['/project/tree/src/a.ts'], 'allow'],
    ['read', ['src/a.ts'], 'allow'],
    ['search', [], 'allow'],
    ['think', [], 'allow'],
    ['edit', ['src/a.ts'], 'allow'],
    ['edit', ['.git/hooks/pre-commit'], 'ask'],
    ['edit', ['sub/.git/config'], 'ask'],
    ['edit', ['.uwf/config.yaml'], 'ask'],
    ['edit', ['src/a.ts', '.uwf/config.yaml'], 'ask'],
    ['delete', ['src/a.ts'], 'ask'],
    ['execute', [], 'ask'],
    ['fetch', [], 'ask'],
    ['other', [], 'ask'],
    ['kind-of-tomorrow', [], 'ask'],
    ['read', ['/etc/passwd'], 'deny'],
    ['edit', ['../sibling/a.ts'], 'deny'],
    ['edit', ['src/a.ts', '/etc/passwd'], 'deny'],
    ['edit', ['/project/tree-2/a.ts'], 'deny'],
    ['edit', ['/project/tree'], 'allow'],
  ] as const)('to %s %j is answered with %s', (kind, paths, answer) => {
    expect(decide(undefined, kind, ...paths)).toBe(answer);
  });
});

describe('a configuration', () => {
  test.each(['allow', 'ask', 'deny'] as const)('of one word decides everything inside: %s', (word) => {
    expect(decide(word, 'execute')).toBe(word);
    expect(decide(word, 'read', 'a')).toBe(word);
    expect(decide(word, 'edit', '/etc/passwd')).toBe('deny');
  });

  test('comes before what is usual, which fills its gaps', () => {
    const permissions: Permissions = { rules: [{ kinds: ['execute'], answer: 'allow' }] };
    expect(decide(permissions, 'execute')).toBe('allow');
    expect(decide(permissions, 'read', 'a')).toBe('allow');
    expect(decide(permissions, 'fetch')).toBe('ask');
    expect(decide({ ...permissions, default: 'deny' }, 'fetch')).toBe('deny');
  });

  test('decides by its first rule that fits', () => {
    const rules: Permissions = {
      rules: [
        { kinds: ['edit'], paths: ['src/generated/**'], answer: 'deny' },
        { kinds: ['edit'], paths: ['src/**'], answer: 'allow' },
        { answer: 'ask' },
      ],
    };
    expect(decide(rules, 'edit', 'src/a.ts')).toBe('allow');
    expect(decide(rules, 'edit', 'src/generated/a.ts')).toBe('deny');
    expect(decide(rules, 'edit', 'docs/a.md')).toBe('ask');
  });

  test('allows several files only where the rule means all of them, and holds back where it means any', () => {
    const rule = (answer: PermissionAnswer): Permissions => ({
      rules: [{ paths: ['src/**'], answer }],
      default: 'ask',
    });
    expect(decide(rule('allow'), 'delete', 'src/a', 'docs/b')).toBe('ask');
    expect(decide(rule('deny'), 'delete', 'src/a', 'docs/b')).toBe('deny');
    expect(decide(rule('ask'), 'edit', 'src/a', '/etc/passwd')).toBe('deny');
  });

  test('can let out of the folder only by naming where to', () => {
    expect(decide({ rules: [{ answer: 'allow' }] }, 'read', '/usr/include/a.h')).toBe('deny');
    expect(decide({ rules: [{ paths: ['**'], answer: 'allow' }] }, 'read', '/usr/include/a.h')).toBe('deny');
    expect(decide({ rules: [{ paths: ['/usr/include/**'], answer: 'allow' }] }, 'read', '/usr/include/a.h')).toBe(
      'allow',
    );
  });

  test('does not take an action without a path for one that its paths mean', () => {
    expect(decide({ rules: [{ paths: ['**'], answer: 'allow' }] }, 'execute')).toBe('ask');
  });
});

test.each([
  ['a/b', 'a/b', true],
  ['a/b', 'a', false],
  ['a/b.ts', 'a/*.ts', true],
  ['a/b/c.ts', 'a/*.ts', false],
  ['a/b/c.ts', 'a/**/*.ts', true],
  ['a/c.ts', 'a/**/*.ts', true],
  ['a/c.ts', '**', true],
  ['a', 'a/**', true],
  ['ab', 'a/**', false],
  ['.env', '*', true],
  ['a+b(c)[d]', 'a+b(c)[d]', true],
  ['aab', 'a+b', false],
  ['a/b', 'a?b', false],
  ['axb', 'a?b', true],
])('%s against %s: %s', (path, pattern, isMatch) => {
  expect(matchesGlob(path, pattern)).toBe(isMatch);
});
