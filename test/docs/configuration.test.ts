import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { builtInAgents } from '../../src/agent/load/agent-binding.ts';
import { checkValue } from '../../src/agent/extract/extract-reply.ts';
import { configSchema } from '../../src/engine/config/config-schema.ts';
import { parseConfigFile } from '../../src/engine/config/parse-config.ts';
import { isJsonObject, type JsonObject } from '../../src/json.ts';
import { atPointer } from '../../src/schema/typed-schema.ts';
import { codesIn, keyTable } from './key-table.ts';
import { root } from './live-document.ts';

const markdown = readFileSync(path.join(root, 'docs/configuration.md'), 'utf8');

const keysBelow = (heading: string): string[][] => keyTable(markdown, heading);
const code = (cell: string | undefined): string => codesIn(cell)[0] ?? '';

const sections = ['## Keys', '### Agents', '### Limits', '### Context', '### Snapshot', '### Redact'];

describe.each(sections)('%s of the reference of configuration', (heading) => {
  test.each(keysBelow(heading))('%s', async (...cells) => {
    const [, , , , example, mistake] = cells;
    expect((await parseConfigFile(code(example), 'config.yaml')).mistakes).toEqual([]);
    const [, text = '', message = ''] = /^`([^`]+)`: (.+)$/.exec(mistake ?? '') ?? [];
    expect((await parseConfigFile(text, 'config.yaml')).mistakes.map((found) => found.message)).toEqual([message]);
  });
});

describe('the reference of configuration', () => {
  test.each(
    [
      '/properties',
      '/properties/agents/additionalProperties/properties',
      '/properties/limits/properties',
      '/properties/context/properties',
      '/properties/snapshot/properties',
      '/properties/redact/properties',
    ].map((place, index) => [sections[index] ?? '', place] as const),
  )('has every key below "%s"', (heading, place) => {
    const keys = Object.keys(atPointer(configSchema, place)?.schema ?? {});
    expect(
      keysBelow(heading)
        .map(([key]) => code(key))
        .toSorted(),
    ).toEqual(keys.toSorted());
  });

  test('has every variable of the environment that is read', () => {
    const files = ['src', 'bin'].flatMap((folder) =>
      readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((file) => /\.[jt]s$/.test(file) && !file.includes('contract-suite'))
        .map((file) => readFileSync(path.join(root, folder, file), 'utf8')),
    );
    const read = files.flatMap((source) =>
      [...source.matchAll(/\benv(?:\['|\.)([A-Z_]+)\b/g)].map((match) => match[1]),
    );
    expect([...new Set(read)].filter((name) => !markdown.includes(`\`${name}\``))).toEqual([]);
  });
});

describe.each(Object.keys(builtInAgents))('builtin:%s of the reference of configuration', (name) => {
  const rows = keysBelow(`### \`builtin:${name}\``);

  async function schema(): Promise<JsonObject> {
    const { packageDescriptor } = (await builtInAgents[name]?.()) ?? {};
    if (!isJsonObject(packageDescriptor?.configSchema)) throw new Error(`${name} has no schema`);
    return packageDescriptor.configSchema;
  }

  test('has every key', async () => {
    const { properties } = await schema();
    expect(rows.map(([key]) => code(key)).toSorted()).toEqual(Object.keys(properties ?? {}).toSorted());
  });

  test.each(rows)('%s', async (...cells) => {
    const [key = '', type, standard, , example] = cells;
    const { required = [], oneOf: _either, ...all } = await schema();
    expect(standard === 'needed').toBe(Array.isArray(required) && required.includes(code(key)));
    expect(type).not.toBe('');
    expect(await checkValue(all, parse(code(example)), 'config')).toEqual([]);
  });
});
