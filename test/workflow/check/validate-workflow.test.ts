import { describe, expect, test } from 'vitest';
import { formatDiagnostic } from '../../../src/workflow/source/source-map.ts';
import { loadWorkflowFile } from '../../../src/workflow/load/resolve-workflow.ts';
import { validateWorkflow } from '../../../src/workflow/check/validate-workflow.ts';
import { findings, loadText, memoryReader } from '../memory-reader.ts';

/** A workflow that is right, with lines changed. */
function sample(changes: Record<string, string> = {}): string {
  let text = `name: sample
roles:
  writer:
    description: writes
    schema: { type: object, properties: { $status: { const: written }, words: { type: integer } }, required: [$status] }
  checker:
    description: checks
    schema:
      oneOf:
        - properties: { $status: { const: accepted } }
          required: [$status]
        - properties: { $status: { const: rejected }, why: { type: string } }
          required: [$status, why]
moderator:
  - { from: __start__, to: writer, when: null }
  - { from: writer, to: checker, when: null, prompt: "Check {{ words }} words." }
  - { from: checker, to: writer, when: "$last('checker').\`$status\` = 'rejected'", prompt: "Again: {{ why }}" }
  - { from: checker, to: __end__, when: null }
`;
  for (const [old, changed] of Object.entries(changes)) {
    expect(text).toContain(old);
    text = text.replace(old, () => changed);
  }
  return text;
}

function labels(count: number): string {
  return Array.from({ length: count }, (_, at) => `l${at}`).join(', ');
}

test('a workflow without mistakes is reduced and nothing is said', async () => {
  const { definition, diagnostics } = await loadText(sample());
  expect(diagnostics).toEqual([]);
  expect(definition?.moderator).toHaveLength(4);
});

test.each<[string, string]>([
  ['$schema: "http://json-schema.org/draft-07/schema#"', 'delete the line'],
  ['items: [{ type: string }]', "'prefixItems'"],
  ['exclusiveMinimum: true, minimum: 3', "in place of 'minimum'"],
  ['required: true', "beside 'properties'"],
  ['additionalItems: false', "'prefixItems'"],
  ['format: date-tme', "did you mean 'date-time'?"],
  ['format: telephone', "'date'"],
])('what to write in place of %s is said', async (words, hint) => {
  const { diagnostics } = await loadText(sample({ 'type: integer': words }));
  expect(diagnostics).toMatchObject([{ line: 5, hint: expect.stringContaining(hint) as unknown }]);
});

describe('each mistake is found where it stands', () => {
  test.each<[string, Record<string, string>, string[]]>([
    ['another name than the file', { 'name: sample': 'name: simple' }, ['1 error name-mismatch: simple']],
    [
      'a name that is none',
      { 'name: sample': 'name: My Flow' },
      ['1 error bad-name: My Flow', '1 error name-mismatch: My Flow'],
    ],
    ['a missing name', { 'name: sample\n': '' }, ['1 error missing-key: roles:']],
    ['an unknown key', { 'name: sample\n': 'name: sample\nlimit: 3\n' }, ['2 error unknown-key: limit']],
    ['a key of somebody else', { 'name: sample\n': 'name: sample\nx-team: 3\n' }, []],
    ['a limit of zero', { 'name: sample\n': 'name: sample\nlimits: { maxSteps: 0 }\n' }, ['2 error wrong-type: 0']],
    ['a limit that is half', { 'description: writes': 'limits: { maxVisits: 1.5 }' }, ['4 error wrong-type: 1.5']],
    [
      'roles under another key',
      { 'roles:': 'rolls:' },
      ['1 error missing-key: name: sample', '2 error unknown-key: rolls'],
    ],
    ['a misspelt key of a role', { 'description: writes': 'descripton: writes' }, ['4 error unknown-key: descripton']],
    [
      'a role without a schema',
      { 'properties: { $status: { const: written }, words: { type: integer } }': 'x: 1', 'schema: {': 'x-schema: {' },
      ['3 error missing-key: writer'],
    ],
    [
      'a reserved role',
      { '  writer:': '  $SUSPEND: { schema: {} }\n  writer:' },
      ['3 error reserved-name: $SUSPEND', '3 error unreachable-role: $SUSPEND'],
    ],
    ['a rule to nobody', { 'to: checker, when': 'to: cheker, when' }, ['16 error unknown-role: cheker']],
    [
      'a rule from the end',
      { 'from: checker, to: __end__': 'from: __end__, to: __end__' },
      ['10 error status-without-edge: accepted', '18 error reserved-name: __end__'],
    ],
    [
      'a rule to the start',
      { 'from: checker, to: __end__': 'from: checker, to: __start__' },
      ['18 error reserved-name: __start__'],
    ],
    [
      'no rule from the start',
      { 'from: __start__': 'from: writer' },
      [
        '14 error no-start: moderator',
        '16 error rule-never-fires: { from: writer, to: checker, when: null, prompt: "Check {{ words }} words." }',
      ],
    ],
    [
      'a rule behind one that always holds',
      { 'to: __end__, when: null }': 'to: writer, when: null }\n  - { from: checker, to: __end__, when: null }' },
      ['14 error no-end: moderator', '19 error rule-never-fires: { from: checker, to: __end__, when: null }'],
    ],
    [
      'a role that nobody reaches',
      { '  checker:\n': '  idler: { schema: {} }\n  checker:\n' },
      ['6 error unreachable-role: idler'],
    ],
    [
      'a dead end',
      {
        '  - { from: checker, to: writer, when: "$last(\'checker\').`$status` = \'rejected\'", prompt: "Again: {{ why }}" }\n  - { from: checker, to: __end__, when: null }':
          '  - { from: __start__, to: __end__, when: null }',
      },
      ['6 error dead-end: checker', '17 error rule-never-fires: { from: __start__, to: __end__, when: null }'],
    ],
    [
      'a circle nobody leaves',
      {
        'to: __end__, when: null': 'to: checker, when: null',
        '  - { from: __start__, to: writer, when: null }':
          '  - { from: __start__, to: __end__, when: "$threadId = \'x\'" }\n  - { from: __start__, to: writer, when: null }',
      },
      ['3 error no-end: writer', '6 error no-end: checker'],
    ],
    [
      'a status that no rule takes',
      { 'to: __end__, when: null': 'to: __end__, when: "$steps[-1].status = \'acepted\'"' },
      ['10 error status-without-edge: accepted', '18 error edge-without-status: "$steps[-1].status = \'acepted\'"'],
    ],
    [
      'rules that may all be false',
      { 'to: __end__, when: null': 'to: __end__, when: "$visits(\'writer\') > 3"' },
      ['6 warning no-fallback: checker'],
    ],
    ['a listed $SUSPEND', { 'const: written': 'enum: [written, $SUSPEND]' }, ['5 error reserved-status: $SUSPEND']],
    ['an expression that is none', { "= 'rejected'": '==' }, ['17 error expression-syntax: =']],
    ['an empty expression', { "$last('checker').`$status` = 'rejected'": ' ' }, ['17 error expression-syntax: " "']],
    ['a refused function', { "= 'rejected'": '= $now()' }, ['17 error refused-function: $now']],
    [
      'a function of JSONata with another value',
      { "= 'rejected'": '= ($count := 1)' },
      ['17 error unsafe-expression: $count'],
    ],
    [
      'a function that is transformed',
      { "= 'rejected'": '= ($count ~> |$|{}|)' },
      ['17 error unsafe-expression: $count'],
    ],
    ['an unknown variable', { "$last('checker')": '$stpes[-1]' }, ['17 error unknown-variable: $stpes']],
    [
      'an unknown role in an expression',
      { "$last('checker')": "$last('cheker')" },
      ["17 error unknown-role: $last('cheker')"],
    ],
    [
      'a comparison on a filtered list',
      { "$last('checker').`$status`": "$steps[role='checker'].meta.why" },
      ['17 warning list-comparison: $steps'],
    ],
    ['a when that is no text', { 'to: __end__, when: null': 'to: __end__, when: true' }, ['18 error wrong-type: true']],
    ['a template that is none', { '{{ why }}': '{{ why | upcas }}' }, ['17 error template-syntax: {{ why | upcas }}']],
    ['a field of nobody', { '{{ why }}': '{{ whi }}' }, ['17 error unknown-variable: whi']],
    [
      'a field of another status',
      { 'to: __end__, when: null': "to: __end__, when: \"$steps[-1].status = 'accepted'\", prompt: '{{ why }}'" },
      ['18 error unknown-variable: why'],
    ],
    [
      'a field of start that it lacks',
      { 'Again: {{ why }}': 'Again: {{ start.promt }}' },
      ['17 error unknown-variable: start.promt'],
    ],
    [
      'a field before anything was reported',
      { 'to: writer, when: null }': 'to: writer, when: null, prompt: "{{ x }}" }' },
      ['15 warning unknown-variable: x'],
    ],
    ['an empty prompt', { 'Again: {{ why }}': '' }, ['17 error empty-prompt: ""']],
    ['a schema that is none', { 'type: integer': 'type: int' }, ['5 error invalid-schema: int']],
    [
      'a misspelt keyword',
      { 'required: [$status, why]': 'requierd: [$status, why]' },
      ['13 warning unknown-keyword: requierd'],
    ],
    [
      'a keyword of an earlier draft, without effect',
      { 'type: integer': 'additionalItems: false' },
      ['5 warning unknown-keyword: additionalItems'],
    ],
    [
      'another draft',
      { 'type: integer': '$schema: "http://json-schema.org/draft-07/schema#"' },
      ['5 error invalid-schema: "http://json-schema.org/draft-07/schema#"'],
    ],
    ['a misspelt format', { 'type: integer': 'format: date-tme' }, ['5 warning unknown-format: date-tme']],
    ['a format like no other', { 'type: integer': 'format: telephone' }, ['5 warning unknown-format: telephone']],
    [
      'formats that are checked, and one of the user',
      { 'type: integer': 'anyOf: [{ format: date-time }, { format: cas_ref }, { format: x-telephone }]' },
      [],
    ],
    [
      'a reserved field',
      { 'words: { type: integer }': '_body: { type: string }, words: {}' },
      ['5 error reserved-field: schema'],
    ],
    [
      'a return code on the way',
      { 'prompt: "Again: {{ why }}"': 'returnCode: 3' },
      ['17 error misplaced-return-code: returnCode'],
    ],
    [
      'a return code too large',
      { 'to: __end__, when: null': 'to: __end__, when: null, returnCode: 256' },
      ['18 error wrong-type: 256'],
    ],
    [
      'a check that does not compile',
      { 'description: checks': 'check: { expression: "$meta.(", message: no }' },
      ['7 error expression-syntax: "'],
    ],
    [
      'a check without a message',
      { 'description: checks': 'check: [{ expression: "true" }]' },
      ['7 error missing-key: { expression: "true" }'],
    ],
    [
      'a folder outside the work tree',
      { 'description: checks': 'cwd: ../elsewhere' },
      ['7 error bad-cwd: ../elsewhere'],
    ],
    ['needs that are no list', { 'description: checks': 'needs: gpu' }, ['7 error wrong-type: gpu']],
    ['a need that is no text', { 'description: checks': 'needs: [gpu, 3]' }, ['7 error wrong-type: 3']],
    ['a need that is no label', { 'description: checks': 'needs: [gpu, "GPU 2"]' }, ['7 error bad-label: "GPU 2"']],
    [
      'a label of 65 letters',
      { 'description: checks': `needs: [${'a'.repeat(65)}]` },
      [`7 error bad-label: ${'a'.repeat(65)}`],
    ],
    ['a need that is there twice', { 'description: checks': 'needs: [gpu, "gpu"]' }, ['7 error bad-label: "gpu"']],
    ['too many needs', { 'description: checks': `needs: [${labels(33)}]` }, [`7 error too-large: [${labels(33)}]`]],
    ['as many needs as there may be', { 'description: checks': `needs: [${labels(32)}]` }, []],
    ['both notations', { 'moderator:': 'graph: {}\nmoderator:' }, ['14 error two-notations: graph']],
  ])('%s', async (_name, changes, expected) => {
    expect(findings(await loadText(sample(changes)))).toEqual(expected);
  });
});

test('expressions that no fetch would evaluate are found', async () => {
  const text = sample({ "\"$last('checker').`$status` = 'rejected'\"": '!include long.txt' });
  const files = { 'sample.yaml': text, 'long.txt': `'${'x'.repeat(262_144)}' = 'rejected'` };
  const { diagnostics } = await loadWorkflowFile('sample.yaml', { reader: memoryReader(files) });
  expect(diagnostics).toMatchObject([{ code: 'too-large' }]);
});

test('all mistakes are reported at once', async () => {
  const loaded = await loadText(
    sample({
      'name: sample': 'name: Sample',
      'type: integer': 'type: int',
      'to: checker, when': 'to: cheker, when',
      '{{ why }}': '{{ whi }}',
      "$last('checker')": '$lst(',
      'to: __end__, when: null': 'to: __end__, when: null, returnCode: x',
    }),
  );
  expect(loaded.definition).toBeUndefined();
  const codes = loaded.diagnostics.filter(({ severity }) => severity === 'error').map(({ code }) => code);
  expect(codes).toEqual([
    'bad-name',
    'name-mismatch',
    'invalid-schema',
    'unknown-role',
    'expression-syntax',
    'unknown-variable',
    'wrong-type',
  ]);
});

test('a diagnostic is written with its line, the place underlined, and a hint', async () => {
  const { diagnostics, sources } = await loadText(sample({ 'to: checker, when': 'to: cheker, when' }));
  const found = diagnostics.find(({ code }) => code === 'unknown-role')!;
  expect(formatDiagnostic(found, { sources })).toBe(
    [
      "sample.yaml:16:25: error: rule 2 leads to 'cheker', which is no role [unknown-role]",
      '  16 |   - { from: writer, to: cheker, when: null, prompt: "Check {{ words }} words." }',
      '     |                         ^^^^^^',
      "  hint: did you mean 'checker'?",
    ].join('\n'),
  );
});

test('of a line as long as a file, what is around the place is shown', async () => {
  const { diagnostics, sources } = await loadText(
    sample({ 'to: checker, when': `x-a: ${'a'.repeat(5000)}, to: cheker, x-z: ${'z'.repeat(5000)}, when` }),
  );
  const found = diagnostics.find(({ code }) => code === 'unknown-role')!;
  const [, line = '', mark = ''] = formatDiagnostic(found, { sources }).split('\n');
  expect(line).toMatch(/^  16 \| …a+, to: cheker, x-z: z+…$/u);
  expect(line.length).toBeLessThan(260);
  expect(line.slice(mark.indexOf('^'), mark.lastIndexOf('^') + 1)).toBe('cheker');
});

test.each(['END', 'end', '$END', '$end'])("a rule that leads to '%s' is told the name of the end", async (end) => {
  const { diagnostics } = await loadText(sample({ 'to: __end__, when: null': `to: ${end}, when: null` }));
  expect(diagnostics).toContainEqual(
    expect.objectContaining({ code: 'unknown-role', hint: "did you mean '__end__'?" }) as unknown,
  );
});

test('a value that is no workflow at all is a diagnostic', async () => {
  for (const value of [null, 3, 'text', [], undefined, () => 1, { roles: 3, moderator: {} }]) {
    const { definition, diagnostics } = await validateWorkflow(value);
    expect(definition).toBeUndefined();
    expect(diagnostics.length).toBeGreaterThan(0);
  }
});

test('an unknown key is told with all keys there are, and three braces with how many Liquid has', async () => {
  const { diagnostics } = await loadText(
    sample({
      'description: writes': 'zzz: writes',
      '{{ words }}': '{{{words}}}',
      '{{ why }}': '{{ why }} {{{ why }}}',
    }),
  );
  const [key, ...braces] = diagnostics;
  expect(key).toMatchObject({
    code: 'unknown-key',
    hint: expect.stringMatching(/'systemPrompt'.*'schema'.*'retries'/u),
  });
  expect(key?.hint).not.toContain('more');
  expect(braces).toMatchObject([
    { code: 'template-syntax', line: 16, column: 61, length: 11, hint: expect.stringContaining('{{ name }}') },
    { code: 'template-syntax', line: 17, hint: expect.stringContaining('{{ name }}') },
  ]);
});
