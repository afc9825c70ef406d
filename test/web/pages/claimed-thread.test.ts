import { expect, test } from 'vitest';
import { parseRefName } from '../../../src/git/format/refs.ts';
import { makeClaim } from '../../../src/sync/claims.ts';
import { createFixture, scripted, statuses, workflow } from '../../engine/engine-fixture.ts';
import { visitorOf } from '../../helpers/web-visitor.ts';

test('the page of a thread names the worker of a remote that had it, and its machine', async () => {
  const { engine, repository } = await createFixture(scripted({ writer: [] }));
  const definition = workflow('one', { writer: statuses('written') }, 'writer > end');
  const { thread, head } = await engine.start({ definition, prompt: 'Write.' });
  const page = async (): Promise<string> => (await (await visitorOf(repository)).get(`/t/${thread}`)).text();
  expect(await page()).not.toContain('claimed by');
  const claim = { thread, head, worker: '<box>', host: 'far', session: '0'.repeat(16), count: 0, deadlineMs: 60_000 };
  const { id, batch } = makeClaim(repository.objects.format, claim, 0);
  await (await repository.objects.write(batch.objects)).release();
  const name = parseRefName(`refs/uwf/remotes/origin/claims/${thread}`);
  await repository.refs.update([{ name, expected: null, value: id }]);
  expect(await page()).toContain('claimed by &lt;box&gt; on far, at origin');
});
