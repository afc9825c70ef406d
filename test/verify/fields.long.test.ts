import { expect, test } from 'vitest';
import { runCampaign } from './campaign.ts';
import { isListed, listUnboundFields, unboundFields } from './unbound-fields.ts';

/** `MUTATIONS=10000` is the whole campaign, which takes a quarter of an hour and more. */
const COUNT = Number(process.env['MUTATIONS'] ?? 800);
/** A regular expression: the fields that are changed, of all there are. */
const FIELDS = process.env['FIELDS'];

test(
  'of thousands of changes of every field and link none ends a check, and only listed ones are not found',
  async () => {
    const { tried, fields, crashes, disagreements, undetected } = await runCampaign(
      COUNT,
      FIELDS === undefined ? undefined : new RegExp(FIELDS),
    );
    const found = [...undetected].map(([field, hows]) => `${field}: ${[...hows].join(' | ').slice(0, 150)}`);
    // oxlint-disable-next-line no-console -- what is not found is for the reader of a campaign
    console.log(`${tried} changes; not found:\n${found.toSorted().join('\n')}`);
    expect(crashes).toEqual([]);
    expect(disagreements).toEqual([]);
    const listed = unboundFields();
    expect([...undetected].filter(([field]) => !isListed(field, listed))).toEqual([]);
    if (COUNT < 10_000 || FIELDS !== undefined) return;
    // A list that says too much would hide what is bound. What has bounds may be found by every single change.
    const free = listUnboundFields().flatMap(({ name, hasBounds }) => (hasBounds ? [] : [name]));
    const isIn = (name: string, all: Iterable<string>): boolean => [...all].some((field) => isListed(field, [name]));
    expect(free.filter((name) => isIn(name, fields) && !isIn(name, undetected.keys()))).toEqual([]);
  },
  4 * 3_600_000,
);
