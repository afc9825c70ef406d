import { describe, expect, test } from 'vitest';
import type { Rule, WorkflowDefinition } from '../../../src/workflow/definition.ts';
import { WorkflowGraph, type PathTaken } from '../../../src/web/parts/workflow-graph.tsx';
import { rulesOf } from '../../helpers/plot.ts';

const role = { systemPrompt: '', extractPrompt: '', schema: {} };
const moderator: Rule[] = [
  { from: '__start__', to: 'writer', when: null },
  { from: 'writer', to: 'end', when: null },
  { from: 'end', to: 'writer', when: "$steps[-1].meta.`$status` = 'rejected'" },
  { from: 'end', to: '__end__', when: '$visits("end") > 3', returnCode: 2 },
  { from: 'end', to: '__end__', when: null },
];
const definition: WorkflowDefinition = {
  name: 'sample',
  description: '',
  roles: { writer: { ...role, description: 'writes <b>text</b>' }, end: { ...role, description: '' } },
  moderator,
};
const hrefOf = (name: string): string => `#${name}`;

async function draw(drawn: WorkflowDefinition, path?: PathTaken): Promise<string> {
  return (await WorkflowGraph({ definition: drawn, path, hrefOf })).toString();
}

describe('WorkflowGraph', () => {
  test('draws roles as links with their descriptions, and rules with their conditions', async () => {
    const html = await draw(definition);
    expect(html).toContain('<a href="#writer" class="role"><title>writer\nwrites &lt;b&gt;text&lt;/b&gt;</title>');
    expect(html).toContain('<title>end to writer: rejected</title>');
    // A role that is called `end` is another node than the end; two rules between the same two are one line.
    expect(html).toContain('<a href="#end"');
    expect(html).toContain('<title>end to end: $visits(&quot;end&quot;) &gt; 3, exit 2\nend to end: otherwise</title>');
    expect(html.match(/<polygon/g)).toHaveLength(4);
  });

  test('draws a block as a node that names its branches, of many the first', async () => {
    const branches = Object.fromEntries(
      Array.from({ length: 1000 }, (_, index) => [`b${index}`, { workflow: 'review' }]),
    );
    const html = await draw({
      ...definition,
      blocks: { reviews: { branches, join: 'all', schema: {} } },
      moderator: rulesOf('reviews > end'),
    });
    expect(html).toContain('<a href="#reviews" class="role"><title>reviews\nb0\nb1');
    expect(html).toContain('b7\n… and 992 more</title>');
    expect(html).toContain('>b0, b1, b2');
    expect(html).not.toContain('b8');
  });

  test('needs no style and no script of its own', async () => {
    expect(await draw(definition)).not.toMatch(/style=|<style|<script|NaN|undefined/);
  });

  test('shows of a run how often each rule was followed, and whose turn it is', async () => {
    const html = await draw(definition, {
      rules: new Map([
        [0, 1],
        [1, 12],
      ]),
      forced: [{ from: 'writer', to: 'writer', count: 1 }],
      visits: new Map([['writer', 13]]),
      turn: { role: 'end', state: 'at work' },
    });
    expect(html).toContain('class="role visited"');
    expect(html).toContain('class="role at-work"');
    expect(html).toContain('>13 steps</text>');
    expect(html).toContain('>0 steps, at work</text>');
    expect(html).toContain('>12×</text>');
    expect(html).toContain('<title>end to writer: rejected (0 times)</title>');
    expect(html).toContain('<g class="line taken forced"><title>writer to writer: by a person (1 time)</title>');
  });

  test('stays where it is while counts grow', async () => {
    const boxes = async (count: number): Promise<string[]> => {
      const visits = new Map([['writer', count]]);
      const html = await draw(definition, { rules: new Map([[1, count]]), forced: [], visits, turn: undefined });
      return html.match(/<rect [^>]*rx=[^>]*>/g) ?? [];
    };
    expect(await boxes(0)).toEqual(await boxes(42));
  });

  test.each([
    ['301 roles', 301, 0],
    ['many more rules than roles', 40, 130],
  ])('is a table for %s', async (_, count, more) => {
    const names = Array.from({ length: count }, (_unused, index) => `role-${index}`);
    const chain = names.map((to, index): Rule => ({ from: names[index - 1] ?? '__start__', to, when: null }));
    const others = Array.from({ length: more }, (_unused, index): Rule => {
      return { from: `role-${index % 40}`, to: `role-${(index * 7) % 39}`, when: `$visits("x") = ${index}` };
    });
    const roles = Object.fromEntries(names.map((name) => [name, { ...role, description: '' }]));
    const html = await draw({ ...definition, roles, moderator: [...chain, ...others] });
    expect(html).not.toContain('<svg');
    expect(html.match(/<tr>/g)).toHaveLength(1 + count + more);
  });
});
