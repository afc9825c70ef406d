import { createRequire } from 'node:module';
import { compileFunction } from 'node:vm';
import { build, type Plugin } from 'esbuild';
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { prepareHashing } from '../../src/cas/hash.ts';
import { isJsonObject, type JsonValue } from '../../src/json.ts';
import { builtIn, builtInTypes } from '../../src/schema/built-in.ts';
import { checkBuiltIn } from '../../src/schema/built-in-checks.ts';
import { sampleNodes, type Sample } from './sample-nodes.ts';

type CheckBuiltIn = typeof checkBuiltIn;

let shipped: CheckBuiltIn;
/** What the shipped code has asked Node for. */
const loaded: string[] = [];
let samples: readonly Sample[];

beforeAll(async () => {
  await prepareHashing();
  samples = sampleNodes();
  // Plain JavaScript, part of the build.
  const script = new URL('../../scripts/build/built-in-checks-plugin.js', import.meta.url).href;
  const { builtInChecksPlugin } = (await import(script)) as { builtInChecksPlugin: Plugin };
  const { outputFiles } = await build({
    entryPoints: [new URL('../../src/schema/built-in-checks.ts', import.meta.url).pathname],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    packages: 'external',
    supported: { 'dynamic-import': false },
    write: false,
    plugins: [builtInChecksPlugin],
  });
  const module = { exports: {} };
  const requireHere = createRequire(import.meta.url);
  const require = (name: string): unknown => (loaded.push(name), requireHere(name));
  compileFunction(outputFiles[0]?.text ?? '', ['require', 'module', 'exports'])(require, module, module.exports);
  // What the entry exports.
  shipped = (module.exports as { checkBuiltIn: CheckBuiltIn }).checkBuiltIn;
});

/** Copies of a value in which one place, or none, is something else. */
function damaged(value: JsonValue): fc.Arbitrary<JsonValue> {
  const anything = fc.oneof(
    fc.constantFrom<JsonValue>(null, true, -1, 1.5, 7, '', 'text', 'EYHPV6X8XHTCS', [], {}, [1], { more: 1 }),
    fc.constant(value),
  );
  if (Array.isArray(value)) {
    const items = value.map((item, index) => damaged(item).map((changed) => value.with(index, changed)));
    return fc.oneof(anything, ...items);
  }
  if (!isJsonObject(value)) return anything;
  const members = Object.entries(value).flatMap(([key, member]) => [
    damaged(member).map((changed) => ({ ...value, [key]: changed })),
    fc.constant(Object.fromEntries(Object.entries(value).filter(([other]) => other !== key))),
  ]);
  return fc.oneof(anything, fc.constant({ ...value, unknown: 1 }), ...members);
}

/** The types whose schema is code in what ships; the others are schemas of schemas. */
const generated = builtInTypes.filter((type) => type !== builtIn['meta-schema'] && type !== builtIn['role-schema']);

describe('the code that the build makes of the built-in schemas', () => {
  test.each(generated)('says of a %s what ajv says, word for word', async (type) => {
    const payloads = samples.filter(({ node }) => node.type === type).map(({ node }) => node.payload);
    expect(payloads).not.toEqual([]);
    for (const payload of payloads) {
      expect(await shipped(type, payload)).toEqual([]);
      await fc.assert(
        fc.asyncProperty(damaged(payload), async (changed) => {
          expect(await shipped(type, changed)).toEqual(await checkBuiltIn(type, changed));
        }),
        { numRuns: 60 },
      );
    }
  });

  test('loads no ajv for it', () => {
    expect(loaded.filter((name) => name.startsWith('ajv'))).toEqual([]);
  });

  test('leaves the schemas of schemas to ajv', async () => {
    const wrong = { type: 'text' };
    expect(await shipped(builtIn['meta-schema'], wrong)).toEqual(await checkBuiltIn(builtIn['meta-schema'], wrong));
    expect(await shipped(builtIn['meta-schema'], wrong)).not.toEqual([]);
    expect(loaded).toContain('ajv/dist/2020.js');
  });
});
