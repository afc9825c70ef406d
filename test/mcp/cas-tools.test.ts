import { expect, test } from 'vitest';

import { casTools, type McpScope } from '../../src/mcp/mcp-tools.ts';
import { Redaction } from '../../src/engine/redact/redaction.ts';
import type { JsonObject } from '../../src/json.ts';
import { createMapRepository } from '../helpers/map-repository.ts';
import { watched } from '../helpers/watched-repository.ts';
import { addManySteps } from '../thread/long-thread.ts';
import { startLoop } from '../thread/thread-fixture.ts';

function call(scope: McpScope, name: string, input: JsonObject): Promise<unknown> {
  return casTools.find((tool) => tool.name === name)!.run(input, scope);
}

test('cas_get reads a long thread back once in a session, also where something is put meanwhile', async () => {
  const whole = createMapRepository();
  const state = await startLoop(whole);
  // More than the indexes that are kept for all readers.
  await addManySteps(whole, state, 1500, 0);
  const { repository, read } = watched(whole);
  const redaction = (): Redaction => new Redaction(null);
  const scope: McpScope = { repository, thread: state.id, stepDir: undefined, redaction, version: '1' };
  const hash = state.start.node.workflow;
  await call(scope, 'cas_get', { hash });
  expect(read.length).toBeGreaterThan(1500);
  const note = await call(scope, 'cas_put', { text: 'A note.' });
  read.length = 0;
  expect(await call(scope, 'cas_get', { hash })).toContain('loop');
  expect(await call(scope, 'cas_get', { hash: note as string })).toBe('A note.');
  expect(read.length).toBeLessThan(20);
});
