import { describe, expect, test } from 'vitest';
import { type ContextStep, summaryPrompts } from '../../../src/thread/agent-context.ts';

const step = (number: number, text: string): ContextStep => ({ number, role: 'coder', status: null, text });
const prompts = (texts: readonly string[], maxCharacters: number, before?: string): string[] =>
  summaryPrompts({ task: 'Build it.', steps: texts.map((text, index) => step(index + 1, text)), maxCharacters }).map(
    (prompt) => prompt(before),
  );
/** The numbers of the steps that each prompt tells. */
const told = (texts: readonly string[], maxCharacters: number): string[] =>
  prompts(texts, maxCharacters).map((prompt) =>
    [...prompt.matchAll(/^## (\d+)\./gm)].map(([, number]) => number).join(' '),
  );

describe('the prompts that sum up a thread', () => {
  test('say what is to be done, the task, and what was said, the oldest first', () => {
    const [prompt = '', ...more] = prompts(['one', ' two\n'], 100);
    expect(more).toEqual([]);
    const [instruction = '', rest] = prompt.split('\n# The task of the thread\n');
    expect(instruction).toMatch(
      /^# What you are to do\n\nSum up the work .* Reply with the summary as plain Markdown/s,
    );
    expect(rest).toBe('\nBuild it.\n\n# What was said since\n\n## 1. coder\n\none\n\n## 2. coder\n\ntwo\n');
  });

  test('take over the summary that was made before', () => {
    const [prompt] = prompts(['one'], 100, 'All is well.');
    expect(prompt).toContain('\n# The summary so far, which yours replaces\n\nAll is well.\n\n# What was said since\n');
  });

  test('have as many steps as fit, and are at least one', () => {
    expect(told(['123', '45', '6', '78'], 5)).toEqual(['1 2', '3 4']);
    expect(told(['123', '456', '7'], 5)).toEqual(['1', '2 3']);
    expect(told(['', '12345', '6'], 5)).toEqual(['1 2', '3']);
    expect(told([], 5)).toEqual(['']);
  });

  test('give a step that is too long a prompt of its own, without its middle', () => {
    expect(told(['1', '234567', '8'], 5)).toEqual(['1', '2', '3']);
    expect(prompts(['abcdefgh'], 5)[0]).toContain('## 1. coder\n\nab\n[3 characters are cut]\ngh\n');
    expect(prompts(['abcde'], 5)[0]).toContain('## 1. coder\n\nabcde\n');
  });
});
