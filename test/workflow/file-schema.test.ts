import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { describe, expect, test } from 'vitest';
import type { JsonValue } from '../../src/json.ts';
import { workflowFileSchema } from '../../src/workflow/notation/file-schema.ts';
import { loadWorkflowFile } from '../../src/workflow/load-workflow-file.ts';
import { parseSource } from '../../src/workflow/source/parse-source.ts';
import { diskReader } from '../../src/workflow/source/disk-reader.ts';
import { validateWorkflow } from '../../src/workflow/validate-workflow.ts';
import { mutantsOf, randomFrom } from '../helpers/mutants.ts';
import { generatedWorkflow } from './generated-workflow.ts';

const fixtures = join(import.meta.dirname, '../../fixtures/workflows');

const ajv = new Ajv({ strict: false, ownProperties: true });
const isAccepted = ajv.compile(workflowFileSchema);

/** What the schema has to refuse as well. */
const shapeCodes: ReadonlySet<string> = new Set([
  'unknown-key',
  'missing-key',
  'wrong-type',
  'unknown-version',
  'two-notations',
  'two-schemas',
  'no-roles',
  'no-edge',
  'empty-prompt',
  'bad-cwd',
]);

async function errorsOf(value: JsonValue): Promise<string[]> {
  const { diagnostics } = await validateWorkflow(value);
  return diagnostics.filter(({ severity }) => severity === 'error').map(({ code, path }) => `${code} ${path}`);
}

/** Where the two disagree; `undefined` where they agree as far as they have to. */
async function disagreement(value: JsonValue): Promise<string | undefined> {
  const errors = await errorsOf(value);
  const refused = isAccepted(value) ? undefined : ajv.errorsText(isAccepted.errors);
  if (refused !== undefined && errors.length === 0) return `only the schema refuses: ${refused}`;
  const shape = errors.filter((error) => shapeCodes.has(error.split(' ', 1)[0] ?? ''));
  return refused === undefined && shape.length > 0 ? `only validate refuses: ${shape.join(', ')}` : undefined;
}

test('is a schema of draft 7, with no word of a later draft', () => {
  const strict = new Ajv({ strict: true, strictTypes: false, strictRequired: false });
  strict.addVocabulary(['patternErrorMessage']);
  expect(() => strict.compile(workflowFileSchema)).not.toThrow();
});

test.each(readdirSync(fixtures).filter((name) => name.endsWith('.yaml')))('accepts %s', async (name) => {
  const file = join(fixtures, name);
  const { definition } = await loadWorkflowFile(file);
  expect(definition?.name).toBe(name.replace('.yaml', ''));
  const { value } = await parseSource(file, diskReader(fixtures));
  expect(isAccepted(value), ajv.errorsText(isAccepted.errors)).toBe(true);
});

test('accepts the name of a YAML or JSON file where a map may be included, and no other text', () => {
  const including = (file: string): JsonValue[] => [
    { name: 'a', roles: file, moderator: file },
    { name: 'a', roles: { a: file, b: { schema: file, check: file, limits: file } }, graph: file, conditions: file },
    { name: 'a', roles: { a: { schema: { items: file } } }, graph: { $START: file, a: { done: file }, b: [file] } },
    { name: 'a', roles: { a: { frontmatter: {}, check: [file] } }, moderator: [file] },
  ];
  for (const value of including('parts/a.yaml'))
    expect(isAccepted(value), ajv.errorsText(isAccepted.errors)).toBe(true);
  for (const value of including('parts/a.md')) expect(isAccepted(value)).toBe(false);
});

describe('500 generated workflows', () => {
  const random = randomFrom(14);
  const workflows = Array.from({ length: 500 }, () => generatedWorkflow(random));

  test('have no mistakes, for the schema and for validate', async () => {
    for (const workflow of workflows) {
      expect(await errorsOf(workflow), JSON.stringify(workflow)).toEqual([]);
      expect(isAccepted(workflow), `${ajv.errorsText(isAccepted.errors)} ${JSON.stringify(workflow)}`).toBe(true);
    }
  });

  test('are refused by both once they are changed', { timeout: 300_000 }, async () => {
    const faults: string[] = [];
    let refused = 0;
    for (const workflow of workflows) {
      const mutants = [...mutantsOf(workflow)];
      for (const { value, change } of mutants.filter(() => random() < 5 / mutants.length)) {
        const fault = await disagreement(value);
        if (fault !== undefined) faults.push(`${change}: ${fault}`);
        if (!isAccepted(value)) refused += 1;
      }
    }
    expect(faults).toEqual([]);
    expect(refused).toBeGreaterThan(1000);
  });
});
