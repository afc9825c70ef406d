import { expect, test } from 'vitest';
import { importsOf, targetOf, withoutComments } from './source-files.ts';

const value = { isTypeOnly: false, isDynamic: false };

test.each([
  ["import { a } from './a.ts';", [{ specifier: './a.ts', ...value }]],
  ["import {\n  a,\n  b,\n} from './a.ts';", [{ specifier: './a.ts', ...value }]],
  ["import './a.ts';", [{ specifier: './a.ts', ...value }]],
  ["export * from './a.ts';", [{ specifier: './a.ts', ...value }]],
  ["import type { A } from './a.ts';", [{ specifier: './a.ts', isTypeOnly: true, isDynamic: false }]],
  ["export type { A } from './a.ts';", [{ specifier: './a.ts', isTypeOnly: true, isDynamic: false }]],
  ["const a = await import('ajv');", [{ specifier: 'ajv', isTypeOnly: false, isDynamic: true }]],
  ["let a: typeof import('ajv');", [{ specifier: 'ajv', isTypeOnly: true, isDynamic: true }]],
  ["let a: import('ajv').Ajv;", [{ specifier: 'ajv', isTypeOnly: true, isDynamic: true }]],
  [
    "const all = [() => import('a'), () => import('b')];",
    ['a', 'b'].map((specifier) => ({ specifier, isTypeOnly: false, isDynamic: true })),
  ],
  ["export const from = 'here';", []],
])('the imports of %j are found', (code, imports) => {
  expect(importsOf(code)).toEqual(imports);
});

test('an import in a comment is none', () => {
  expect(importsOf(withoutComments("// import './a.ts';\n/*\nimport './b.ts';\n*/\nimport './c.ts';"))).toEqual([
    { specifier: './c.ts', ...value },
  ]);
});

test('what looks like a comment in a string or a regular expression stays', () => {
  const code = "const a = '// not'; const b = /[/]*\\/\\//; const c = `/* ${a} */`;";
  expect(withoutComments(code)).toBe(code);
});

test('a relative import names a file of the source folder', () => {
  expect(targetOf('git/disk/a.ts', '../b.ts')).toBe('git/b.ts');
  expect(targetOf('git/a.ts', 'node:fs')).toBeUndefined();
});
