import type { Ajv2020, Options } from 'ajv/dist/2020.js';
import { isNodeHash } from '../cas/node-hash.ts';
import { CAS_REF } from './find-links.ts';

/**
 * Makes the validator of this project: ajv for draft 2020-12, which knows the form of a node hash and all standard formats.
 * @param isBare without the standard formats and the draft's own schema, which take a few milliseconds; it checks no schema
 */
export async function createAjv(code: Options['code'] = {}, isBare: boolean = false): Promise<Ajv2020> {
  const { Ajv2020 } = await import('ajv/dist/2020.js');
  const ajv = new Ajv2020({
    strict: false,
    allErrors: true,
    logger: false,
    // An inherited property (`constructor`) is no property of the value.
    ownProperties: true,
    // Inlined, the target of many references is compiled for each of them: 22 kB of schema took 60 s and 2.9 GB.
    inlineRefs: false,
    // In nine decimals, 19.99 is a multiple of 0.01. The nearest binary fractions are not.
    multipleOfPrecision: 9,
    meta: !isBare,
    validateSchema: !isBare,
    code,
  });
  if (!isBare) (await import('ajv-formats')).default.default(ajv);
  ajv.addFormat(CAS_REF, { validate: isNodeHash });
  return ajv;
}
