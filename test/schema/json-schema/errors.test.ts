import { expect, test } from 'vitest';
import type { UwfError } from '../../../src/errors.ts';
import { ValidationTimeout } from '../../../src/schema/time-box.ts';
import { InvalidSchema, SchemaViolation } from '../../../src/schema/schema-error.ts';

const errors = ['/a', '', '/c', '/d', '/e', '/f', '/g'].map((path) => ({ path, message: 'must be x' }));
const cause = new Error('cause');

test.each<[UwfError, object]>([
  [
    new InvalidSchema(errors.slice(0, 2), cause),
    {
      code: 'invalid-schema',
      kind: 'data',
      message: 'this is not a schema: /a must be x; must be x',
      hint: 'schemas are JSON Schema draft 2020-12, complete in themselves',
      errors: errors.slice(0, 2),
      cause,
    },
  ],
  [
    new SchemaViolation('meta', errors.slice(0, 5)),
    {
      code: 'schema-violation',
      kind: 'data',
      message: 'meta does not match its schema: /a must be x; must be x; /c must be x; /d must be x; /e must be x',
      subject: 'meta',
      errors: errors.slice(0, 5),
    },
  ],
  [
    new SchemaViolation('meta', errors),
    {
      message:
        'meta does not match its schema: /a must be x; must be x; /c must be x; /d must be x; /e must be x; and 2 more',
    },
  ],
  [
    new ValidationTimeout(2000, cause),
    {
      code: 'validation-timeout',
      kind: 'timeout',
      message: 'checking a value against its schema took longer than 2000 ms and was stopped',
      hint: "look for a 'pattern' in the schema that repeats a repetition, such as (a+)+",
      timeoutMs: 2000,
      cause,
    },
  ],
])('%s', (error, properties) => {
  expect(error).toMatchObject(properties);
});
