import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import type { JsonValue } from '../../../src/json.ts';
import { describeAgreement } from '../../helpers/describe-agreement.ts';
import { configFiles } from './config-files.ts';

const fixtures = join(import.meta.dirname, '../../../fixtures');

const { ajv, isAccepted, mistakesIn } = configFiles;

test('is a schema of draft 7, with no word of a later draft', () => {
  const strict = new Ajv({ strict: true, strictTypes: false, strictRequired: false, validateFormats: false });
  strict.addVocabulary(['x-uwf-record', 'x-uwf-path', 'x-uwf-needs-price']);
  expect(() => strict.compile(isAccepted.schema)).not.toThrow();
});

test.each(readdirSync(fixtures, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('/config.yaml')))(
  'accepts %s',
  async (path) => {
    const value: JsonValue = parse(readFileSync(join(fixtures, path), 'utf8'));
    expect(await mistakesIn(value)).toEqual([]);
    expect(isAccepted(value), ajv.errorsText(isAccepted.errors)).toBe(true);
  },
);

// The long tests have five times as many.
describeAgreement('configurations', 100, configFiles);
