import { expect, test } from 'vitest';
import { runCampaign } from './campaign.ts';
import { isListed, unboundFields } from './unbound-fields.ts';

test('a changed field of a node is found, or is listed as bound by nothing', async () => {
  const { tried, crashes, disagreements, undetected } = await runCampaign(24);
  expect(tried).toBeGreaterThan(20);
  expect(crashes).toEqual([]);
  expect(disagreements).toEqual([]);
  const listed = unboundFields();
  expect(listed.length).toBeGreaterThan(20);
  expect([...undetected].filter(([field]) => !isListed(field, listed))).toEqual([]);
});
