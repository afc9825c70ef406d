import { beforeAll, expect, test } from 'vitest';
import { parseNodeHash, prepareHashing } from '../../src/cas/hash.ts';
import { builtIn, builtInSchema, typeFor } from '../../src/schema/built-in.ts';
import { successorFiles } from '../../src/schema/successor-files.ts';

beforeAll(prepareHashing);

test('the schema of each successor among some types is a file, once', () => {
  const role = typeFor('role', { needs: ['a'] });
  const attempt = typeFor('attempt', { redacted: {} });
  const files = successorFiles([role, builtIn.role, attempt, role, parseNodeHash('EYHPV6X8XHTCS')]);
  expect(files.map(({ path, node }) => [path, node.payload])).toEqual([
    [`types/${role}.json`, builtInSchema(role)],
    [`types/${attempt}.json`, builtInSchema(attempt)],
  ]);
  expect(files.map(({ node }) => [node.hash, node.type])).toEqual([
    [role, builtIn['meta-schema']],
    [attempt, builtIn['meta-schema']],
  ]);
  expect(successorFiles([builtIn.role])).toEqual([]);
});
