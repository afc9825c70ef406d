import { describe, expect, test } from 'vitest';
import { reduceWorkflow } from '../../../src/workflow/notation/reduce-workflow.ts';
import type { LoadedWorkflowFile } from '../../../src/workflow/load/resolve-workflow.ts';
import { Report } from '../../../src/workflow/source/source-map.ts';
import { findings, loadText } from '../memory-reader.ts';

/** The notation of United Workforce, version 1. */
const byStatus = `version: 1
name: sample
description: asks until it knows
x-shared: &reply
  oneOf:
    - properties: { $status: { const: ask }, question: { type: string } }
      required: [$status, question]
    - properties: { $status: { const: know }, answer: { type: string } }
      required: [$status, answer]
roles:
  thinker:
    description: thinks
    goal: Find the truth.
    capabilities: [reading, doubting]
    procedure: |
      1. Read.
      2. Doubt.
    output: A question or an answer.
    frontmatter: *reply
  oracle:
    description: knows
    goal: Answer.
    capabilities: []
    procedure: Answer it.
    output: An answer.
    frontmatter: *reply
graph:
  $START:
    new: { role: thinker, prompt: "Think about {{ topic }}.", location: null }
    resume: { role: thinker, prompt: "Go on thinking." }
  thinker:
    ask: { role: "oracle", prompt: "{{ question }}\\n\\n{{ _body }}", location: "{{ start.prompt }}" }
    know: { role: "$END", prompt: "{{ answer }}" }
  oracle:
    ask: { role: thinker, prompt: "Another question: {{ question }}" }
    know: { role: thinker, prompt: "It says: {{ answer }}" }
`;

const byCondition = `name: sample
description: asks until it knows
roles:
  thinker: { description: thinks, frontmatter: { type: object, properties: { sure: { type: boolean } }, required: [sure] } }
conditions:
  sure:
    description: it is sure
    expression: "$last('thinker').sure = true"
  often: "$visits('thinker') > 2"
graph:
  $START:
    - { role: thinker, condition: null, prompt: Think. }
  thinker:
    - { role: $END, condition: sure, prompt: Done. }
    - { role: $END, condition: often, prompt: Enough., returnCode: 3 }
    - { role: thinker, condition: null, prompt: Again. }
`;

/** Without the lines, which only count those of the sample. */
const whatIsFound = (loaded: LoadedWorkflowFile) => findings(loaded).map((finding) => finding.replace(/^\d+ /, ''));

describe('edges with a condition', () => {
  /** Gives up after three visits of the coder. */
  const givesUp = (edges: string) => `name: sample
description: tries three times
roles:
  coder: { description: codes, schema: { type: object, properties: { $status: { const: done } }, required: [$status] } }
  tester:
    description: tests
    schema: { type: object, properties: { $status: { enum: [passed, failed] } }, required: [$status] }
graph:
  $START: { new: { role: coder, prompt: Begin. } }
  coder: { done: { role: tester, prompt: Test. } }
  tester:
    passed: { role: $END, prompt: Done. }
    failed: ${edges}
`;

  test('are asked in their order, beside the status', async () => {
    const loaded = await loadText(
      givesUp(
        `[{ role: $END, when: "$visits('coder') > 2 or 1=2", prompt: Enough., returnCode: 1 }, { role: coder, prompt: Again. }]`,
      ),
    );
    expect(findings(loaded)).toEqual([]);
    expect(loaded.definition?.moderator.slice(-2)).toEqual([
      {
        from: 'tester',
        to: '__end__',
        when: "$steps[-1].meta.`$status` = 'failed' and ($visits('coder') > 2 or 1=2)",
        prompt: 'Enough.',
        returnCode: 1,
      },
      { from: 'tester', to: 'coder', when: "$steps[-1].meta.`$status` = 'failed'", prompt: 'Again.' },
    ]);
  });

  test.each([
    ['none of which always holds', '{ role: coder, when: "true = false" }', ['13 warning no-fallback']],
    [
      'one behind another that always holds',
      '[{ role: coder }, { role: $END, when: "1 = 2" }]',
      ['13 error rule-never-fires'],
    ],
    [
      'one that is no expression',
      '[{ role: $END, when: "1 = 2) or (1 = 1" }, { role: coder }]',
      ['13 error expression-syntax'],
    ],
    ['one that is no text', '[{ role: $END, when: true }, { role: coder }]', ['13 error wrong-type']],
    [
      'one that names a role that is not there',
      `[{ role: $END, when: "$visits('code') > 1" }, { role: coder }]`,
      ['13 error unknown-role'],
    ],
    ['an empty list', '[]', ['13 error no-edge']],
  ])('%s', async (_what, edges, found) => {
    const loaded = await loadText(givesUp(edges));
    expect(findings(loaded).map((finding) => finding.replace(/:.*/u, ''))).toEqual(found);
  });

  test('may be for a limit alone, which is no way on without another', async () => {
    const loaded = await loadText(givesUp('[{ role: coder }, { role: $END, on: limit, returnCode: 2 }]'));
    expect(findings(loaded)).toEqual([]);
    expect(loaded.definition?.moderator.at(-1)).toMatchObject({ to: '__end__', on: 'limit', returnCode: 2 });
    const alone = await loadText(givesUp('{ role: coder, on: limit }'));
    expect(whatIsFound(alone)).toEqual(['error status-without-edge: failed']);
    expect(whatIsFound(await loadText(givesUp('{ role: coder, on: steps }')))).toEqual(['error wrong-type: steps']);
  });

  test('stand in a list of edges too, but not beside the name of one', async () => {
    const inline = byCondition.replace(
      'condition: often, prompt: Enough.',
      `when: "$visits('thinker') > 2", prompt: Enough.`,
    );
    expect((await loadText(inline)).definition?.moderator.map(({ when }) => when)).toEqual([
      null,
      "$last('thinker').sure = true",
      "$visits('thinker') > 2",
      null,
    ]);
    const both = byCondition.replace('condition: often', `condition: often, when: "1 = 1"`);
    expect(whatIsFound(await loadText(both)).join()).toContain('error two-conditions');
  });
});

describe('routing by $status', () => {
  test('becomes rules, roles in file order and then their statuses', async () => {
    const { definition } = await loadText(byStatus);
    expect(definition?.moderator).toEqual([
      { from: '__start__', to: 'thinker', when: null, prompt: 'Think about {{ topic }}.' },
      { from: '__resume__', to: 'thinker', when: null, prompt: 'Go on thinking.' },
      {
        from: 'thinker',
        to: 'oracle',
        when: "$steps[-1].meta.`$status` = 'ask'",
        prompt: '{{ question }}\n\n{{ _body }}',
        location: '{{ start.prompt }}',
      },
      { from: 'thinker', to: '__end__', when: "$steps[-1].meta.`$status` = 'know'", prompt: '{{ answer }}' },
      {
        from: 'oracle',
        to: 'thinker',
        when: "$steps[-1].meta.`$status` = 'ask'",
        prompt: 'Another question: {{ question }}',
      },
      { from: 'oracle', to: 'thinker', when: "$steps[-1].meta.`$status` = 'know'", prompt: 'It says: {{ answer }}' },
    ]);
  });

  test('what its first prompt names in vain is a warning, for such files have to run', async () => {
    expect(whatIsFound(await loadText(byStatus))).toEqual(['warning unknown-variable: topic']);
  });

  test('the four parts of a role become one prompt', async () => {
    const { definition } = await loadText(byStatus);
    expect(definition?.roles['thinker']?.systemPrompt).toBe(
      '## Goal\n\nFind the truth.\n\n## Capabilities\n\n- reading\n- doubting\n\n## Procedure\n\n1. Read.\n2. Doubt.\n\n## Output\n\nA question or an answer.\n',
    );
    expect(definition?.roles['oracle']?.systemPrompt).not.toContain('Capabilities');
  });

  test.each([
    [
      'an edge that leads to $SUSPEND',
      'role: thinker, prompt: "It says',
      'role: $SUSPEND, prompt: "It says',
      'error reserved-name: $SUSPEND',
    ],
    ['a node $END', '  oracle:\n    ask: {', '  $END:\n    ask: {', 'error reserved-name: $END'],
    ['the start of older files', 'new: {', '_: {', 'error unknown-key: _'],
    [
      'an edge without its status',
      '    know: { role: thinker',
      '    known: { role: thinker',
      'error edge-without-status: known',
    ],
    [
      'a status without its edge',
      '    know: { role: "$END", prompt: "{{ answer }}" }\n',
      '',
      'error status-without-edge: know',
    ],
    [
      'a status that can be anything',
      '    frontmatter: *reply\ngraph',
      '    frontmatter: { properties: { $status: { type: string } } }\ngraph',
      'error open-status: frontmatter',
    ],
    [
      'no status at all',
      '    frontmatter: *reply\ngraph',
      '    frontmatter: { type: object }\ngraph',
      'error no-status: frontmatter',
    ],
    [
      'a status that may be left out',
      'required: [$status, question]',
      'required: [question]',
      'warning optional-status: frontmatter',
    ],
    ["the other notation's end", '"$END"', '__end__ ', undefined],
    ['a next role that is missing', 'role: "oracle", prompt', 'prompt', 'error missing-key: ask'],
    ['a version of tomorrow', 'version: 1', 'version: 2', 'error unknown-version: 2'],
  ])('%s', async (_name, old, changed, finding) => {
    expect(byStatus).toContain(old);
    const found = whatIsFound(await loadText(byStatus.replace(old, () => changed)));
    if (finding === undefined) expect(found).toEqual(['warning unknown-variable: topic']);
    else expect(found).toContain(finding);
  });

  test('a status with quotes in it is compared as it is', () => {
    const reduce = (status: string) =>
      reduceWorkflow(new Report(), {
        name: 'sample',
        roles: { a: { schema: {} } },
        graph: { a: { [status]: { role: '$END' } } },
      }).definition.moderator[0]?.when;
    expect(reduce("it's")).toBe('$steps[-1].meta.`$status` = "it\'s"');
    expect(reduce('a\\b"\n')).toBe('$steps[-1].meta.`$status` = "a\\\\b\\"\\n"');
  });
});

describe('routing by named conditions', () => {
  test('becomes rules in the order of the lists', async () => {
    const { definition, diagnostics } = await loadText(byCondition);
    expect(diagnostics).toEqual([]);
    expect(definition?.moderator).toEqual([
      { from: '__start__', to: 'thinker', when: null, prompt: 'Think.' },
      { from: 'thinker', to: '__end__', when: "$last('thinker').sure = true", prompt: 'Done.' },
      { from: 'thinker', to: '__end__', when: "$visits('thinker') > 2", prompt: 'Enough.', returnCode: 3 },
      { from: 'thinker', to: 'thinker', when: null, prompt: 'Again.' },
    ]);
  });

  test.each([
    [
      'a condition that is not defined',
      'condition: often',
      'condition: oftn',
      ['9 warning unused-condition: often', '15 error unknown-condition: oftn'],
    ],
    [
      'a condition that does not compile, once',
      "thinker').sure = true",
      "thinker').sure ==",
      ['8 error expression-syntax: ='],
    ],
    [
      'a condition that is no text',
      'often: "$visits(\'thinker\') > 2"',
      'often: 3',
      ['9 error wrong-type: 3', '15 error unknown-condition: often'],
    ],
  ])('%s', async (_name, old, changed, expected) => {
    expect(byCondition).toContain(old);
    expect(findings(await loadText(byCondition.replace(old, () => changed)))).toEqual(expected);
  });
});

test('a definition reduces to itself', async () => {
  for (const text of [byStatus, byCondition]) {
    const { definition } = await loadText(text);
    const report = new Report();
    expect(reduceWorkflow(report, structuredClone(definition) as never).definition).toEqual(definition);
    expect(report.diagnostics()).toEqual([]);
  }
});
