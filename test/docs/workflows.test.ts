import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, parseDocument } from 'yaml';
import { liquidEngine } from '../../src/expression/template/template.ts';
import { BRANCHES, CHECK_NAMES, REFUSED_FUNCTIONS, RULE_NAMES } from '../../src/expression/analysis/syntax-tree.ts';
import { workflowFileSchema } from '../../src/workflow/notation/editor-schema.ts';
import { isJsonObject } from '../../src/json.ts';
import { atPointer } from '../../src/schema/typed-schema.ts';
import { validateWorkflow } from '../../src/workflow/check/validate-workflow.ts';
import { codesIn, keyTable } from './key-table.ts';
import { root, testDocument } from './live-document.ts';
import { markdownBlocks } from './markdown-blocks.ts';

testDocument('docs/workflows.md', () => {});

const markdown = readFileSync(path.join(root, 'docs/workflows.md'), 'utf8');

/** What stands in backticks between two phrases of the document. */
function namesBetween(from: string, to: string): string[] {
  const start = markdown.indexOf(from);
  const text = markdown.slice(start, markdown.indexOf(to, start + from.length));
  return [...text.matchAll(/`([^`\n]+)`/g)].map((match) => match[1] ?? '');
}

/** What has to stand beside a key for it to be valid. */
const completing: Readonly<Record<string, object>> = {
  check: { expression: 'true', message: 'no' },
  edge: { role: '$END' },
  rule: { from: 'writer', to: 'checker' },
};

/** A workflow in which a role, check, edge or rule of its own says what is given. */
function around(place: string, values: object): unknown {
  const schema = {
    properties: { $status: { enum: ['done', 'rejected'] }, folder: { type: 'string' }, ok: { type: 'boolean' } },
    required: ['$status'],
  };
  const own = place === 'check' || place === 'limits' ? { [place]: values } : {};
  const roles = {
    writer: { schema, ...own, ...(place === 'role' && values) },
    checker: { schema, limits: { maxVisits: 9 } },
  };
  const end = { role: '$END' };
  const graph = {
    $START: { new: { role: 'writer' } },
    writer: { done: [{ role: 'checker', when: '1 > 2' }, end], rejected: end },
    checker: { done: place === 'edge' ? [{ when: '1 > 2', ...values }, end] : end, rejected: end },
  };
  const moderator = [
    { from: '__start__', to: 'writer' },
    ...(place === 'rule' ? [{ when: '1 > 2', ...values }] : []),
    { from: 'writer', to: 'checker', when: '2 > 3' },
    { from: 'writer', to: '__end__' },
    { from: 'checker', to: '__end__' },
  ];
  return { name: 'example', roles, ...(place === 'rule' ? { moderator } : { graph }) };
}

describe('the reference of workflows', () => {
  test('has every code that a workflow is refused with, and no other', () => {
    const folder = path.join(root, 'src/workflow');
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
    const words = readFileSync(path.join(root, 'src/schema/explain-errors.ts'), 'utf8');
    const source = [words, ...files.map((file) => readFileSync(path.join(folder, file), 'utf8'))].join('\n');
    // As the first argument of a report's method, alone on its line where the call is long; or beside a severity.
    const codes = [
      ...source.matchAll(/\b(?:error|warning|complain|reportFault)\(\s*(?:[^'()]*\? )?'([a-z]+(?:-[a-z]+)*)'/g),
      ...source.matchAll(/shape\.hasStatus \? '([a-z-]+)' : '([a-z-]+)'/g),
      ...source.matchAll(/notationError\('([a-z-]+)'/g),
      // In the words of a schema.
      ...source.matchAll(/\bcode: '([a-z]+(?:-[a-z]+)*)',\s*(?:says|path)/g),
    ].flatMap((match) => match.slice(1).filter((code) => code !== undefined));
    const documented = keyTable(markdown, '## Errors and warnings').flatMap(([cell]) => codesIn(cell));
    expect(new Set(documented)).toEqual(new Set(codes));
  });

  test.each([
    ['## The file', ''],
    ['## Roles', '/properties/roles/additionalProperties'],
    ['## Blocks', '/properties/blocks/additionalProperties'],
    ['### Branches', '/properties/blocks/additionalProperties/properties/branches/additionalProperties'],
    ['### A branch for each item', '/properties/blocks/additionalProperties/properties/each'],
    ['### Check', '/properties/roles/additionalProperties/properties/check'],
    ['### Limits', '/properties/roles/additionalProperties/properties/limits'],
    ['### `graph`: edges by status', '/definitions/edges'],
    ['### `graph`: edges with named conditions', '/properties/conditions/additionalProperties'],
    ['### `moderator`: a list of rules', '/properties/moderator/items'],
  ])('has every key below "%s"', (heading, place) => {
    const properties = atPointer(workflowFileSchema(), `${place}/properties`)?.schema;
    if (!isJsonObject(properties)) throw new Error(`no properties at ${place}`);
    const documented = keyTable(markdown, heading).flatMap(([cell]) => codesIn(cell));
    // The keys of United Workforce have a table of their own.
    if (heading === '## Roles') {
      const others = keyTable(markdown, '## Workflows of United Workforce').flatMap(([cell]) => codesIn(cell));
      documented.push(...others);
    }
    expect(documented.filter((key) => key !== 'x-…').toSorted()).toEqual(Object.keys(properties).toSorted());
  });

  test.each(
    [
      ['## Roles', 'role'],
      ['### Check', 'check'],
      ['### Limits', 'limits'],
      ['### `graph`: edges by status', 'edge'],
      ['### `moderator`: a list of rules', 'rule'],
    ].flatMap(([heading = '', place = '']) =>
      keyTable(markdown, heading)
        .flatMap((cells) =>
          cells.flatMap((cell) => /^(`+)(?<example>[a-zA-Z]+: .*)\1$/.exec(cell)?.groups?.['example'] ?? []),
        )
        .map((example) => ({ place, example })),
    ),
  )('shows an example that is valid in a $place: $example', async ({ place, example }) => {
    const values = { ...(place === 'role' ? {} : completing[place]), ...(parse(example) as object) };
    const { diagnostics } = await validateWorkflow(around(place, values));
    expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  });

  test('lists the filters and tags that there are', async () => {
    const liquid = await liquidEngine();
    expect(namesBetween('**Filters**', 'Another filter')).toEqual(Object.keys(liquid.filters).toSorted());
    expect(namesBetween('**Tags**', 'Those that read')).toEqual(Object.keys(liquid.tags).toSorted());
  });

  test('lists what expressions may name, and the functions that they may not', () => {
    for (const name of new Set([...RULE_NAMES, ...CHECK_NAMES, BRANCHES]))
      expect(markdown).toMatch(new RegExp(`^\\| \`\\$${name}\\b`, 'm'));
    expect(new Set(namesBetween('may be used but five', '(`refused-function`)'))).toEqual(
      new Set([...REFUSED_FUNCTIONS].map((name) => `$${name}`)),
    );
  });

  test.each(markdownBlocks(markdown).filter(({ language }) => language === 'yaml'))(
    'shows YAML on line $line',
    ({ text }) => {
      const { errors } = parseDocument(text, { customTags: [{ tag: '!include', resolve: (file: string) => file }] });
      expect(errors).toEqual([]);
    },
  );
});
