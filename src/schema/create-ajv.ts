import type { Ajv2020, Options } from 'ajv/dist/2020.js';
import { isNodeHash } from '../cas/node-hash.ts';
import { CAS_REF } from './mark-refs.ts';

/** Makes the validator of this project: ajv for draft 2020-12, which knows the form of a node hash and all standard formats. */
export async function createAjv(code: Options['code'] = {}): Promise<Ajv2020> {
  const [{ Ajv2020 }, formats] = await Promise.all([import('ajv/dist/2020.js'), import('ajv-formats')]);
  const ajv = new Ajv2020({
    strict: false,
    allErrors: true,
    logger: false,
    // A property every object inherits (`constructor`) is none of the value's.
    ownProperties: true,
    // A part that many references name would be compiled as often: 22 kB of schema took 60 s and 2.9 GB.
    inlineRefs: false,
    code,
  });
  formats.default.default(ajv);
  ajv.addFormat(CAS_REF, { type: 'string', validate: isNodeHash });
  return ajv;
}
