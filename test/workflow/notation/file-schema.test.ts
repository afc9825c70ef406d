import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { expect, test } from 'vitest';
import type { JsonValue } from '../../../src/json.ts';
import { workflowFileSchema } from '../../../src/workflow/notation/editor-schema.ts';
import { loadWorkflowFile } from '../../../src/workflow/load/resolve-workflow.ts';
import { diskReader, parseSource } from '../../../src/workflow/source/read-source.ts';
import { describeAgreement } from '../../helpers/describe-agreement.ts';
import { workflowFiles } from './workflow-files.ts';

const fixtures = join(import.meta.dirname, '../../../fixtures/workflows');

const { ajv, isAccepted } = workflowFiles;

test('is a schema of draft 7, with no word of a later draft', () => {
  const strict = new Ajv({ strict: true, strictTypes: false, strictRequired: false });
  strict.addVocabulary(['patternErrorMessage']);
  expect(() => strict.compile(workflowFileSchema())).not.toThrow();
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

// The long tests have five times as many.
describeAgreement('workflows', 100, workflowFiles);
