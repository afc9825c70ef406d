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
