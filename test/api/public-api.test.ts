import { beforeAll, expect, test } from 'vitest';
import { describeApi } from './describe-api.ts';

// After a change that is meant: `npm run api`.
let api: Awaited<ReturnType<typeof describeApi>>;

beforeAll(async () => {
  api = await describeApi();
});

test('what the package exports, and every signature, is as it was', async () => {
  await expect(api.surface).toMatchFileSnapshot('public-api.txt');
});

test('docs/api.md says what the sources say', async () => {
  await expect(api.page).toMatchFileSnapshot('../../docs/api.md');
});
