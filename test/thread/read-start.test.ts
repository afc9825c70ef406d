import { beforeEach, describe, expect, test } from 'vitest';
import { UwfError } from '../../src/errors.ts';
import { appendStep } from '../../src/thread/append-step.ts';
import { type ThreadState, totalsOf } from '../../src/thread/thread-state.ts';
import {
  findStart,
  type LightCommit,
  readLightCommit,
  readThreadPrompt,
  startOf,
} from '../../src/thread/thread-chain.ts';
import { createMapRepository, type MapRepository } from '../helpers/map-repository.ts';
import { watched } from '../helpers/watched-repository.ts';
import { forge } from '../verify/forge-commit.ts';
import { calledBy, startLoop, stepDraft } from './thread-fixture.ts';

let repository: MapRepository;
let start: ThreadState;
let one: ThreadState;
let two: ThreadState;
let three: ThreadState;

beforeEach(async () => {
  repository = createMapRepository();
  start = await startLoop(repository);
  one = await appendStep(repository, start, stepDraft({ text: 'One.' }));
  two = await appendStep(repository, one, stepDraft({ text: 'Two.' }));
  three = await appendStep(repository, two, stepDraft({ text: 'Three.' }));
});

describe('the start of a thread', () => {
  test('of a child is its own, though its chain goes on to its caller', async () => {
    const child = await startLoop(repository, calledBy(one));
    const step = await appendStep(repository, child, stepDraft());
    const spied = watched(repository);
    expect((await findStart(spied.repository, step.head.id))?.id).toBe(child.head.id);
    expect(spied.read).not.toContain(one.head.id);
  });

  test('is named by the head, and no commit between them is read', async () => {
    const spied = watched(repository);
    expect((await findStart(spied.repository, three.head.id))?.id).toBe(start.head.id);
    expect(spied.read).not.toContain(two.head.id);
  });

  test('is not found where the head names another thread, or nothing', async () => {
    const other = await startLoop(repository, { prompt: 'Another.' });
    for (const id of [other.head.id, one.head.id, start.head.commit.tree]) {
      const forged = forge(repository, three.head.id, ({ node }) => {
        node['totals'] = { ...totalsOf(three.tally), start: id };
      });
      expect(await findStart(repository, forged)).toBeUndefined();
      const from = await readLightCommit(repository, forged);
      await expect(startOf(repository, from)).rejects.toThrow(UwfError);
    }
  });
});

describe('the prompt of a thread', () => {
  test('is not found where the thread or its prompt cannot be read', async () => {
    expect(await readThreadPrompt(repository, start.head.commit.tree)).toBeUndefined();
    const without = forge(repository, start.head.id, ({ files, listed, node }) => {
      node['prompt'] = '0000000000000';
      files.delete('prompt.md');
      listed.delete('prompt.md');
    });
    expect((await findStart(repository, without)) satisfies LightCommit | undefined).toMatchObject({ id: without });
    expect(await readThreadPrompt(repository, without)).toBeUndefined();
  });
});
