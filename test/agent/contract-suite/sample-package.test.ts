import { beforeAll, expect, test } from 'vitest';

import { buildUwf, createAuthorFolder, samplePackage } from './author-folder.ts';

beforeAll(buildUwf);

test('the sample package passes its own tests, the contract among them, where uwf is installed', () => {
  const { outcomes, report } = createAuthorFolder({}, samplePackage).runTests();
  const names = Object.keys(outcomes);
  expect(
    names.filter((name) => outcomes[name] !== 'passed'),
    report,
  ).toEqual([]);
  expect(names.filter((name) => name.startsWith('uwf-agent-sample keeps the contract of agents a turn'))).toHaveLength(
    8,
  );
  expect(names).toContain('a folder like its commit is unchanged');
});
