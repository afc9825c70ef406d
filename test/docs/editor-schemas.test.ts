import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv } from 'ajv';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { configFileSchema } from '../../src/engine/config-schema.ts';
import * as fileSchema from '../../src/workflow/notation/file-schema.ts';
import { root } from './live-document.ts';
import { markdownBlocks } from './markdown-blocks.ts';

const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');
const isWorkflow = (file = ''): boolean => /^\.uwf\/workflows\/[^/]+\.yaml$/.test(file);

const examples = ['README.md', 'docs/workflows.md', 'docs/configuration.md', 'docs/writing-an-agent.md'].flatMap(
  (document) =>
    markdownBlocks(read(document))
      .filter(({ file }) => isWorkflow(file) || file === '.uwf/config.yaml')
      .map(({ file, text, line }) => ({ file, text, place: `${document}:${line}` })),
);

test.each(examples)('an editor finds nothing wrong with $file of $place', async ({ file, text }) => {
  const ajv = new Ajv({ strict: false, ownProperties: true, logger: false });
  const isAccepted = ajv.compile(isWorkflow(file) ? fileSchema.workflowFileSchema : await configFileSchema());
  // What an include holds is nothing that an editor knows: it sees the file's name.
  const value: unknown = parse(text, {
    merge: true,
    customTags: [{ tag: '!include', resolve: (name: string) => name }],
  });
  expect(isAccepted(value), ajv.errorsText(isAccepted.errors)).toBe(true);
});

test('the reference of workflows has every key that there is', () => {
  const { workflowProperties, roleProperties, checkProperties, startProperties } = fileSchema;
  const { ruleProperties, conditionalEdgeProperties, conditionProperties } = fileSchema;
  const parts = [workflowProperties, roleProperties, checkProperties, startProperties];
  const keys = [...parts, ruleProperties, conditionalEdgeProperties, conditionProperties].flatMap(Object.keys);
  const markdown = read('docs/workflows.md');
  expect(keys.filter((key) => !new RegExp(`\`(?:\\$START: \\{ )?${key}\\b`).test(markdown))).toEqual([]);
});
