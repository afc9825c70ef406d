import { describe, expect, test } from 'vitest';
import { appendStep } from '../../src/thread/append-step.ts';
import { BLANK_STEP, standIns, stepView, viewOf } from '../../src/thread/step-view.ts';
import { createMapRepository } from '../helpers/map-repository.ts';
import { startLoop, stepAt, stepDraft } from './thread-fixture.ts';

const usage = { inputTokens: 1, outputTokens: 2, turns: 1 };

describe('a step as rules see it', () => {
  test('has what its node says, its text, and the name of its agent', async () => {
    const repository = createMapRepository();
    const meta = { $status: 'again', count: 3 };
    const state = await appendStep(repository, await startLoop(repository), stepDraft({ meta, usage }));
    const commit = stepAt(state);
    expect(await stepView(repository, state, { commit, text: 'A text.' })).toEqual({
      role: 'writer',
      meta,
      output: meta,
      text: 'A text.',
      hash: commit.hash,
      status: 'again',
      agent: 'robot',
      usage,
      startedAtMs: 1_795_262_400_000,
      completedAtMs: 1_795_262_401_500,
    });
  });

  test('has no status where its meta has none', async () => {
    const repository = createMapRepository();
    const state = await appendStep(repository, await startLoop(repository), stepDraft({ meta: { count: 3 } }));
    expect(viewOf(stepAt(state), '', 'robot').status).toBeNull();
  });
});

describe('stand-ins of earlier steps', () => {
  test('are as many of each role as are not among the newest, and say nothing else', () => {
    const roles = new Map([
      ['writer', { visits: 3 }],
      ['checker', { visits: 2 }],
      ['editor', { visits: 1 }],
    ]);
    const found = standIns(roles, [{ role: 'editor' }, { role: 'writer' }]);
    expect(found.map(({ role }) => role)).toEqual(['writer', 'writer', 'checker', 'checker']);
    expect(found[0]).toEqual({
      role: 'writer',
      meta: {},
      output: {},
      text: '',
      hash: '',
      status: null,
      agent: '',
      usage: null,
      startedAtMs: 0,
      completedAtMs: 0,
    });
  });

  test('are of no role by default', () => {
    expect(BLANK_STEP.role).toBe('');
  });
});
