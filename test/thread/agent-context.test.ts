import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { assembleContext, type ContextParts, type ContextStep } from '../../src/thread/agent-context.ts';

function step(number: number, role: string, text: string, status: string | null = 'done'): ContextStep {
  return { number, role, status, text };
}

function parts(more: Partial<ContextParts> = {}): ContextParts {
  return {
    threadId: '01KTWEWZ760000000000000000',
    role: { name: 'coder', description: 'writes code', systemPrompt: 'Keep it small.', extractPrompt: '' },
    instruction: 'Begin with front matter.',
    task: 'Add a --dry-run option.',
    steps: [],
    edgePrompt: undefined,
    answer: undefined,
    parent: undefined,
    hasSession: true,
    maxCharacters: 60_000,
    ...more,
  };
}

const titles = (text: string): string[] => text.split('\n').filter((line) => line.startsWith('# '));

describe('the context of an agent', () => {
  test('has its parts in order, and none that is empty', () => {
    expect(titles(assembleContext(parts()))).toEqual(['# Your reply', '# The task', '# You are coder']);
    const all = parts({
      steps: [step(1, 'planner', 'A plan.', 'planned')],
      edgePrompt: 'Do phase one.',
      answer: 'Yes.',
      parent: { thread: 'P', role: 'developer', stateHash: 'S', promptHash: 'Q' },
    });
    expect(titles(assembleContext(all))).toEqual([
      '# Your reply',
      '# The task',
      '# Where this task comes from',
      '# What has been done',
      '# You are coder',
      '# What was said so far',
      '# What to do now',
      '# The answer to what you asked',
    ]);
    const blank = parts({ edgePrompt: ' \n', answer: '', steps: [] });
    expect(titles(assembleContext(blank))).toHaveLength(3);
  });

  test('tells who did what, and how often this role was asked', () => {
    const text = assembleContext(
      parts({ steps: [step(1, 'coder', 'x'), step(2, 'tester', 'y', null), step(3, 'coder', 'z')] }),
    );
    expect(text).toContain('1. coder: done\n2. tester\n3. coder: done\n4. coder: now, for the 3rd time\n');
  });

  test('a role that comes back is told what happened since its last turn, not its own words', () => {
    const steps = [step(1, 'planner', 'PLAN'), step(2, 'coder', 'CODE'), step(3, 'reviewer', 'REVIEW')];
    const text = assembleContext(parts({ steps }));
    expect(text).toContain('# What was said since your last turn\n\n## 3. reviewer (done)\n\nREVIEW');
    expect(text).not.toContain('PLAN');
    expect(text).not.toContain('CODE');
  });

  test('one whose agent has forgotten its session is told everything, its own words included', () => {
    const steps = [step(1, 'planner', 'PLAN'), step(2, 'coder', 'CODE'), step(3, 'reviewer', 'REVIEW')];
    const text = assembleContext(parts({ steps, hasSession: false }));
    expect(text).toMatch(/# What was said so far[\s\S]*PLAN[\s\S]*CODE[\s\S]*REVIEW/);
  });

  test('a child thread is told where its parent’s context is', () => {
    const parent = { thread: '01P', role: 'developer', stateHash: 'STATEHASH', promptHash: 'PROMPTHASH' };
    const text = assembleContext(parts({ parent }));
    expect(text).toContain("role 'developer' of thread 01P");
    expect(text).toContain('uwf cas get STATEHASH');
    expect(text).toContain('uwf cas get PROMPTHASH');
    expect(text).toContain('uwf thread read 01P');
  });

  test('the newest reply is kept whole whatever the budget, and what is cut is said', () => {
    const steps = [step(1, 'a', 'A'.repeat(50)), step(2, 'b', `${'B'.repeat(50)}END`), step(3, 'c', 'C'.repeat(100))];
    const text = assembleContext(parts({ steps, maxCharacters: 120 }));
    expect(text).toContain('C'.repeat(100));
    expect(text).toContain('[the first 33 characters are cut]\n\nBBBBBBBBBBBBBBBBBEND');
    expect(text).toContain(
      "[step 1 is left out, 50 characters; read all with 'uwf thread read 01KTWEWZ760000000000000000']",
    );
    expect(text).not.toContain('AAA');
  });

  test('the list of a long thread is cut in its middle and says so', () => {
    const steps = Array.from({ length: 100 }, (_, i) => step(i + 1, 'a', ''));
    const text = assembleContext(parts({ steps }));
    expect(text).toContain("20. a: done\n… 60 steps left out; 'uwf step list");
    expect(text).toContain('\n81. a: done\n');
  });

  test('whatever the steps, it stays near its budget, and every reply is there or told to be cut', () => {
    const steps = fc.array(
      fc.tuple(fc.constantFrom('coder', 'tester'), fc.string({ maxLength: 300, unit: 'grapheme' })),
    );
    fc.assert(
      fc.property(steps, fc.integer({ min: 0, max: 400 }), (list, maxCharacters) => {
        const all = list.map(([role, text], i) => step(i + 1, role, text.replaceAll('#', '')));
        const text = assembleContext(parts({ steps: all, maxCharacters }));
        const news = all.slice(all.findLastIndex((one) => one.role === 'coder') + 1);
        const newest = news.at(-1)?.text.trim() ?? '';
        expect(text).toContain(newest);
        const isCut = text.includes(' cut]') || text.includes('left out, ') || text.includes('[read all');
        if (!isCut) for (const one of news) expect(text).toContain(one.text.trim());
        expect(new TextDecoder().decode(Buffer.from(text))).toBe(text);
        const fixed = assembleContext(parts({ steps: all.map((one) => ({ ...one, text: '' })), maxCharacters }));
        expect(text.length).toBeLessThan(fixed.length + Math.max(newest.length, maxCharacters) + 400);
      }),
    );
  });
});
