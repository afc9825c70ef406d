import { describe, expect, test } from 'vitest';
import { prepareHashing } from '../../src/cas/hash.ts';
import { ObjectBatch } from '../../src/git/stores/publish.ts';
import type { ObjectId } from '../../src/git/format/object-id.ts';
import type { JsonObject } from '../../src/json.ts';
import { appendStep } from '../../src/thread/append-step.ts';
import { startThread } from '../../src/thread/thread-verbs.ts';
import { type ThreadRow, threadRows } from '../../src/thread/export-thread.ts';
import type { ThreadState } from '../../src/thread/thread-state.ts';
import { createMapRepository, type MapRepository } from '../helpers/map-repository.ts';
import { writeWorkflowTree } from '../../src/workflow/nodes.ts';
import { agent, loop, stepDraft } from './thread-fixture.ts';

async function rowsOf(repository: MapRepository, { id, head }: ThreadState, from: ObjectId = head.id) {
  const rows: ThreadRow[] = [];
  for await (const row of threadRows(repository, id, from)) rows.push(row);
  return rows;
}

describe('the meta of a step', () => {
  const link = { type: 'string', format: 'cas_ref' };
  const schema = {
    type: 'object',
    properties: { link, links: { type: 'array', items: { properties: { at: link } } } },
  };
  const rowMeta = async (metaFor: (hash: string) => JsonObject) => {
    await prepareHashing();
    const repository = createMapRepository();
    const batch = new ObjectBatch();
    const roles = { ...loop.roles, writer: { ...loop.roles['checker']!, schema } };
    const workflow = writeWorkflowTree(batch, { ...loop, roles });
    const start = await startThread(repository, batch, { workflow, prompt: 'Write.', agents: { writer: agent } });
    const { hash } = start.start;
    const state = await appendStep(repository, start, stepDraft({ meta: metaFor(hash) }));
    return { hash, meta: (await rowsOf(repository, state)).at(-1)?.meta };
  };

  test('has an inline pointer in place of what its schema calls a link, and no other', async () => {
    const { hash, meta } = await rowMeta((to) => ({ link: to, links: [{ at: to, of: to }, { at: to }], other: to }));
    const inline = { $cas: hash };
    expect(meta).toStrictEqual({ link: inline, links: [{ at: inline, of: hash }, { at: inline }], other: hash });
  });

  test('keeps inline pointers wherever they stand, and all other values', async () => {
    const of = (to: string): JsonObject => ({
      $status: 'done',
      list: [{ $cas: to }, [{ deep: { $cas: to, title: 'x' } }], null, 1, true],
      $cas: 'no hash',
    });
    const { hash, meta } = await rowMeta(of);
    expect(meta).toStrictEqual(of(hash));
  });
});
