import { describe, expect, test } from 'vitest';
import type { WorkflowDefinition } from '../../../src/workflow/definition.ts';
import { renderGraph } from '../../../src/workflow/graph/render-graph.ts';

const role = { systemPrompt: '', extractPrompt: '', schema: {} };
const definition: WorkflowDefinition = {
  name: 'sample',
  description: '',
  roles: { checker: { ...role, description: 'checks' }, end: { ...role, description: '' } },
  moderator: [
    { from: '__start__', to: 'end', when: null },
    { from: '__resume__', to: 'checker', when: null },
    { from: 'end', to: 'checker', when: null },
    { from: 'checker', to: 'end', when: "$steps[-1].meta.`$status` = 'rejected'" },
    { from: 'checker', to: '__end__', when: '$visits("end") > 3', returnCode: 2 },
    { from: 'checker', to: '__end__', when: null },
  ],
};

describe('renderGraph', () => {
  test('draws a block per role for the terminal, in the order in which they are reached', () => {
    expect(renderGraph(definition, 'text')).toBe(
      [
        'start',
        '  └───▶ end',
        '',
        'end',
        '  └───▶ checker',
        '',
        'checker   checks',
        '  ├─ rejected ──▶ end',
        '  ├─ $visits("end") > 3, exit 2 ──▶ end',
        '  └─ otherwise ──▶ end',
        '',
        'resume',
        '  └───▶ checker',
        '',
      ].join('\n'),
    );
  });

  test('names what a role needs', () => {
    const [end, checker] = ['end', 'checker'].map((name) => ({ ...definition.roles[name]!, needs: ['docker', 'gpu'] }));
    const drawn = renderGraph({ ...definition, roles: { end: end!, checker: checker! } }, 'text');
    expect(drawn).toContain('\nend   needs docker, gpu\n');
    expect(drawn).toContain('\nchecker   checks   needs docker, gpu\n');
  });

  const branches = Object.fromEntries(
    Array.from({ length: 1000 }, (_, index) => [`b${index}`, { workflow: 'review' }]),
  );
  const block = { branches, join: { atLeast: 2 }, isolation: 'shared', schema: {} } as const;
  const each = { over: '$steps', as: 'phase', key: 'phase', role: 'checker', atOnce: 3 };
  const withBlocks: WorkflowDefinition = {
    ...definition,
    blocks: { many: block, build: { each, join: 'all', isolation: 'worktree', merge: { order: 'key' }, schema: {} } },
    moderator: [
      { from: '__start__', to: 'many', when: null },
      { from: 'many', to: 'build', when: null },
      { from: 'build', to: '__end__', when: null },
    ],
  };

  test('draws a block with its branches, of many the first', () => {
    const [, many, build] = renderGraph(withBlocks, 'text').split('\n\n');
    expect(many?.split('\n')).toEqual([
      'many   1000 branches, join at least 2, isolation shared',
      ...Array.from({ length: 8 }, (_, index) => `  ║ b${index}   workflow review`),
      '  ║ … and 992 more',
      '  └───▶ build',
    ]);
    expect(build?.split('\n')).toEqual([
      'build   a branch for each phase, join all, isolation worktree, merged in the order of their keys',
      '  ║ each phase   role checker, 3 at once',
      '  └───▶ end',
    ]);
    const mermaid = renderGraph(withBlocks, 'mermaid');
    expect(mermaid).toContain('[["many<br/>b0<br/>');
    expect(mermaid).toContain('<br/>… and 992 more"]]');
    expect(renderGraph(withBlocks, 'dot')).toContain('"build" [peripheries=2, label="build\\neach phase"];');
  });

  test('keeps what Mermaid would take for syntax out of its labels', () => {
    const drawn = renderGraph(definition, 'mermaid');
    expect(drawn).toContain('n1["end"]');
    expect(drawn).toContain('|"$visits(#quot;end#quot;) #gt; 3, exit 2"| n4');
  });

  test('quotes what DOT would take for syntax', () => {
    const drawn = renderGraph(definition, 'dot');
    expect(drawn).toContain('"checker" -> "__end__" [label="$visits(\\"end\\") > 3, exit 2"];');
  });
});
