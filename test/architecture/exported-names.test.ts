import { expect, test } from 'vitest';
import { exportedNames, readSourceFiles } from './source-files.ts';

/** What every built-in agent exports, by the contract for agents' packages. */
const contract = new Set(['createAgent', 'packageDescriptor']);

/** Functions of the public API with the name of what they wrap. */
const wrapped = new Set(['findReachableHashes', 'getNode', 'walk']);

test('an exported name of the source has one meaning', () => {
  const places = new Map<string, string[]>();
  for (const { name: file, code } of readSourceFiles()) {
    for (const name of exportedNames(code)) {
      if (file === 'index.ts' && wrapped.has(name)) continue;
      places.set(name, [...(places.get(name) ?? []), file]);
    }
  }
  const twice = [...places].filter(([name, files]) => files.length > 1 && !contract.has(name));
  expect(twice).toEqual([]);
});

test.each([
  ['export const a = 1;', ['a']],
  ['export async function b(): void {}\nexport class C {}\nexport type D = 1;', ['b', 'C', 'D']],
  ['const inner = 1;\nexport function* e() {}', ['e']],
  ["export { f, type g } from './f.ts';", []],
])('the names that %j declares are found', (code, names) => {
  expect(exportedNames(code)).toEqual(names);
});
