import { describe, expect, test } from 'vitest';
import { ObjectBatch } from '../../src/git/stores/publish.ts';
import { RefMoved } from '../../src/git/repository.ts';
import { agentNode } from '../../src/thread/draft-commit.ts';
import { appendStep, keepAsFork, moveThread } from '../../src/thread/append-step.ts';
import { resumeThread, suspendThread } from '../../src/thread/thread-verbs.ts';
import { activeRef, scratchRef } from '../../src/thread/thread-id.ts';
import { forkIdFor } from '../../src/thread/new-thread-id.ts';
import { threadCas } from '../../src/thread/thread-cas.ts';
import { readThread } from '../../src/thread/thread-chain.ts';
import { ThreadMoved } from '../../src/thread/thread-errors.ts';
import { createMapRepository, type MapRepository } from '../helpers/map-repository.ts';
import { agent, startLoop, stepDraft, suspensionDraft } from './thread-fixture.ts';

/** The threads that have a ref, by the names of their refs. */
function refsOf({ refMap }: MapRepository): string[] {
  return [...refMap.keys()].filter((name) => name.startsWith('refs/threads/'));
}

describe('a step that loses the race for its thread', () => {
  test('is kept as a fork, under an id that follows from the thread and the commit', async () => {
    const repository = createMapRepository();
    const state = await startLoop(repository);
    const won = await appendStep(repository, state, stepDraft({ text: 'First.' }));
    const lost = await appendStep(repository, state, stepDraft({ text: 'Second.' })).catch((error: unknown) => error);
    if (!(lost instanceof ThreadMoved) || lost.fork === undefined) throw new Error('it was not kept');
    expect(lost).toMatchObject({ thread: state.id, head: won.head.id });
    expect(repository.refMap.get(activeRef(state.id))).toBe(won.head.id);
    const tip = repository.refMap.get(activeRef(lost.fork))!;
    const kept = await readThread(repository, lost.fork, tip);
    expect(kept.steps.map(({ text }) => text)).toEqual(['Second.']);
    expect(kept.id).toBe(forkIdFor(state.id, tip, kept.head.commit.committer.atMs));
  });

  test('is kept once, however often that is tried, and is not put back after the fork has advanced', async () => {
    const repository = createMapRepository();
    const state = await startLoop(repository);
    const step = await appendStep(repository, state, stepDraft());
    const fork = await keepAsFork(repository, state.id, step.head.id);
    expect(refsOf(repository)).toHaveLength(2);
    const advanced = await appendStep(repository, { ...step, id: fork }, stepDraft({ role: 'checker' }));
    expect(await keepAsFork(repository, state.id, step.head.id)).toBe(fork);
    expect(refsOf(repository)).toHaveLength(2);
    expect(repository.refMap.get(activeRef(fork))).toBe(advanced.head.id);
  });

  test('is kept where another process keeps it at the same moment', async () => {
    const repository = createMapRepository();
    const state = await startLoop(repository);
    const read = (): Promise<undefined> => Promise.resolve(undefined);
    const blind = { ...repository, refs: { ...repository.refs, read } };
    const fork = await keepAsFork(blind, state.id, state.head.id);
    expect(await keepAsFork(blind, state.id, state.head.id)).toBe(fork);
    const full = { ...blind, refs: { ...blind.refs, update: () => Promise.reject(new Error('no space')) } };
    await expect(keepAsFork(full, state.id, state.head.id)).rejects.toThrow('no space');
  });

  test('is stored before its objects lose their protection', async () => {
    const repository = createMapRepository();
    const state = await startLoop(repository);
    await appendStep(repository, state, stepDraft());
    const order: string[] = [];
    const { objects, refs } = repository;
    const watched = {
      ...repository,
      objects: { ...objects, write: async () => ({ release: async () => void order.push('released') }) },
      refs: {
        ...refs,
        update: (edits: Parameters<typeof refs.update>[0]) => {
          order.push(edits[0]!.name === activeRef(state.id) ? 'race' : 'fork');
          return refs.update(edits);
        },
      },
    };
    // Its objects are those of the first, which are there.
    await expect(appendStep(watched, state, stepDraft())).rejects.toThrow('is kept as thread');
    expect(order).toEqual(['race', 'fork', 'released']);
  });
});

describe('a lost race that cost nothing', () => {
  test('leaves no fork: an answer, and a suspension before anything was paid for', async () => {
    const repository = createMapRepository();
    const begun = await startLoop(repository);
    const state = await suspendThread(repository, begun, suspensionDraft());
    await resumeThread(repository, state, 'yes');
    await expect(resumeThread(repository, state, 'no')).rejects.toMatchObject({ fork: undefined });
    await expect(suspendThread(repository, begun, suspensionDraft())).rejects.toMatchObject({ fork: undefined });
    expect(refsOf(repository)).toEqual([activeRef(begun.id)]);
  });

  const usage = { inputTokens: 1, outputTokens: 1, turns: 1 };
  const attempts = [{ text: 'no', errors: ['it is no JSON'], usage: null }];
  test.each([
    ['words of the agent', { text: 'I wonder' }],
    ['tokens', { usage }],
    ['a reply that was not accepted', { attempts }],
  ])('a suspension with %s is kept', async (_, draft) => {
    const repository = createMapRepository();
    const begun = await startLoop(repository);
    await suspendThread(repository, begun, suspensionDraft());
    const kept = suspendThread(repository, begun, suspensionDraft(draft)).catch((error: unknown) => error);
    expect(await kept).toMatchObject({ code: 'thread-moved', fork: expect.any(String) });
    expect(refsOf(repository)).toHaveLength(2);
  });
});

describe('the transaction of a thread', () => {
  test('fails as a whole where another ref moved, and keeps nothing', async () => {
    const repository = createMapRepository();
    const state = await startLoop(repository);
    await threadCas(repository, state.id).put('a note');
    const scratch = repository.refMap.get(scratchRef(state.id))!;
    const batch = new ObjectBatch();
    batch.addBlob('something');
    const edits = [
      { name: activeRef(state.id), expected: state.head.id, value: scratch },
      { name: scratchRef(state.id), expected: state.head.id, value: null },
    ];
    const moved = moveThread(repository, state.id, batch, state.head.id, edits, { keep: true });
    await expect(moved).rejects.toBeInstanceOf(RefMoved);
    expect(refsOf(repository)).toEqual([activeRef(state.id)]);
    expect(repository.refMap.get(activeRef(state.id))).toBe(state.head.id);
  });

  test('refuses objects of another format, which git could never read there', async () => {
    const repository = createMapRepository();
    const state = await startLoop(repository);
    const before = repository.objectMap.size;
    const batch = new ObjectBatch('sha256');
    batch.addBlob(JSON.stringify(agentNode(agent).payload));
    const edits = [{ name: activeRef(state.id), expected: state.head.id, value: state.head.id }];
    const moved = moveThread(repository, state.id, batch, state.head.id, edits, { keep: true });
    await expect(moved).rejects.toThrow('objects of sha256 are for another repository');
    expect(repository.objectMap.size).toBe(before);
  });
});
