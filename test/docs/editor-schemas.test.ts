import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv } from 'ajv';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { configFileSchema } from '../../src/engine/config/config-schema.ts';
import { isJsonObject, type JsonValue } from '../../src/json.ts';
import { workflowFileSchema } from '../../src/workflow/notation/editor-schema.ts';
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
  const isAccepted = ajv.compile(isWorkflow(file) ? workflowFileSchema() : await configFileSchema());
  // What an include holds is nothing that an editor knows: it sees the file's name.
  const value: unknown = parse(text, {
    merge: true,
    customTags: [{ tag: '!include', resolve: (name: string) => name }],
  });
  expect(isAccepted(value), ajv.errorsText(isAccepted.errors)).toBe(true);
});

/** The keys of all maps that a schema describes, as paths, of which an editor has nothing to show. */
function undescribed(schema: JsonValue, path = ''): string[] {
  // JSON Schema has documents of its own.
  if (typeof schema !== 'object' || schema === null || path === '/definitions/keywords') return [];
  return Object.entries(schema).flatMap(([keyword, value]: [string, JsonValue]) => {
    const below = undescribed(value, `${path}/${keyword}`);
    // What only chooses between forms describes no key.
    if (keyword !== 'properties' || !isJsonObject(value) || /\/(?:oneOf\/\d+|if|then)$/.test(path)) return below;
    const bare = Object.entries(value).filter(
      ([, one]) => !(isJsonObject(one) && ('description' in one || '$ref' in one)),
    );
    return [...bare.map(([key]) => `${path}/${key}`), ...below];
  });
}

test('an editor has something to say of each key', async () => {
  expect(undescribed(workflowFileSchema())).toEqual([]);
  expect(undescribed(await configFileSchema())).toEqual([]);
});
