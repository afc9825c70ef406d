import { describe, expect, test, vi } from 'vitest';
import { HashMismatch } from '../../src/cas/node.ts';
import { appendStep } from '../../src/thread/append-step.ts';
import { agentAtStart, agentName } from '../../src/thread/step-view.ts';
import { readLightCommit } from '../../src/thread/thread-chain.ts';
import { createMapRepository } from '../helpers/map-repository.ts';
import { watched } from '../helpers/watched-repository.ts';
import { agent, startLoop, stepAt, stepDraft } from './thread-fixture.ts';

describe('the name of the agent that took a turn', () => {
  test('is the one of the step, where that differs from the one of the start', async () => {
    const repository = createMapRepository();
    const start = await startLoop(repository);
    const state = await appendStep(repository, start, stepDraft({ agent: { ...agent, name: 'substitute' } }));
    expect(await agentName(repository, state.start, stepAt(state))).toBe('substitute');
  });

  test('is the one of the start for its role, whatever characters the name of the role has', async () => {
    const repository = createMapRepository();
    const start = await startLoop(repository, { agents: { 'Writer A': agent, checker: { ...agent, name: 'critic' } } });
    const one = await appendStep(repository, start, stepDraft({ role: 'Writer A' }));
    const two = await appendStep(repository, one, stepDraft({ role: 'checker', agent: { ...agent, name: 'critic' } }));
    expect(await agentName(repository, two.start, stepAt(one))).toBe('robot');
    expect(await agentName(repository, two.start, stepAt(two))).toBe('critic');
  });

  test('is read once from the start for all steps of a role', async () => {
    const repository = createMapRepository();
    const one = await appendStep(repository, await startLoop(repository), stepDraft());
    const two = await appendStep(repository, one, stepDraft());
    const spied = watched(repository);
    for (const state of [one, two, one]) {
      expect(await agentName(spied.repository, two.start, stepAt(state))).toBe('robot');
    }
    expect(spied.read).toHaveLength(1);
  });

  test('is empty where neither the step nor the start has it', async () => {
    const repository = createMapRepository();
    const state = await appendStep(repository, await startLoop(repository), stepDraft());
    const commit = { ...stepAt(state), node: { ...stepAt(state).node, role: 'nobody' } };
    expect(await agentName(repository, state.start, commit)).toBe('');
  });
});

describe('the name of the agent at the start of a thread', () => {
  test('is the same from the start, from its tree alone, and from its id', async () => {
    const repository = createMapRepository();
    const { start } = await startLoop(repository, { agents: { 'Writer A': agent } });
    for (const from of [start, await readLightCommit(repository, start.id), start.id]) {
      if (typeof from !== 'string' && from.kind !== 'start') throw new Error('it is no start');
      const { repository: unread } = watched(repository);
      expect(await agentAtStart(unread, from, 'Writer A')).toBe('robot');
      expect(await agentAtStart(unread, from, 'checker')).toBeUndefined();
    }
  });

  test('is read once for all threads with the same agents', async () => {
    const repository = createMapRepository();
    const spied = watched(repository);
    for (const prompt of ['One.', 'Another.']) {
      const start = await readLightCommit(repository, (await startLoop(repository, { prompt })).start.id);
      if (start.kind !== 'start') throw new Error('it is no start');
      expect(await agentAtStart(spied.repository, start, 'writer')).toBe('robot');
    }
    expect(spied.read).toHaveLength(2);
  });

  test('is not taken from a start whose tree has another agent than its node says', async () => {
    const repository = createMapRepository();
    const start = await readLightCommit(repository, (await startLoop(repository)).start.id);
    if (start.kind !== 'start') throw new Error('it is no start');
    const forged = { ...start, node: { ...start.node, agents: { writer: start.node.workflow } } };
    expect(await agentAtStart(repository, start, 'writer')).toBe('robot');
    await expect(agentAtStart(repository, forged, 'writer')).rejects.toThrow(HashMismatch);
  });

  test('is read again after it could not be', async () => {
    const repository = createMapRepository();
    const { start } = await startLoop(repository);
    const read = vi.spyOn(repository.objects, 'read').mockRejectedValueOnce(new Error('not fetched yet'));
    await expect(agentAtStart(repository, start, 'writer')).rejects.toThrow('not fetched yet');
    expect(await agentAtStart(repository, start, 'writer')).toBe('robot');
    expect(read).toHaveBeenCalledTimes(2);
  });
});
