import { describe, expect, test } from 'vitest';
import * as uwf from '../../src/index.ts';
import type { Repository } from '../../src/git/repository.ts';
import { appendStep } from '../../src/thread/append-step.ts';
import { endThread, resumeThread, suspendThread } from '../../src/thread/thread-verbs.ts';
import type { ThreadState } from '../../src/thread/thread-state.ts';
import { type CliRepository, createCliRepository } from '../helpers/cli.ts';
import { createDice, growThread } from '../verify/grow-thread.ts';
import { agent, startLoop, stepDraft } from './thread-fixture.ts';

/** The hashes that the indexes of a thread's commits list, as plain git shows them. */
function nodesByGit({ git }: CliRepository, { head, start }: ThreadState): Set<string> {
  const hashes = new Set<string>();
  const commits = git('log', '--first-parent', '--format=%H', head.id).split('\n');
  for (const commit of commits.slice(0, commits.indexOf(start.id) + 1)) {
    const indexes = git('ls-tree', '-r', '--name-only', commit).split('\n');
    for (const path of indexes.filter((name) => /(?:^|\/)index$/.test(name))) {
      for (const line of git('show', `${commit}:${path}`).trim().split('\n')) hashes.add(line.slice(0, 13));
    }
  }
  return hashes;
}

async function suspended(repository: Repository, thread: ThreadState, text: string): Promise<ThreadState> {
  return suspendThread(repository, thread, {
    role: 'checker',
    reason: `Which? ${text}`,
    cause: 'invalid-reply',
    text,
    prompt: `p ${text}`,
    agent,
    rule: 1,
    usage: null,
    attempts: [{ text: `no ${text}`, errors: ['not like this'], usage: null }],
    trace: {
      durationMs: 1,
      turns: [
        {
          input: `told ${text}`,
          output: `said ${text}`,
          parts: [{ kind: 'thought', text: `hm ${text}` }],
          toolCalls: [{ name: 'look', arguments: `{"at":"${text}"}`, result: 'x', isError: true, durationMs: 1 }],
          tokens: { input: 1, output: 1 },
          startedAtMs: 1,
          latencyMs: 1,
        },
      ],
    },
  });
}

async function pausedTwice(repository: Repository): Promise<ThreadState> {
  const one = await appendStep(repository, await startLoop(repository), stepDraft());
  const first = await resumeThread(repository, await suspended(repository, one, 'first'), 'the left one');
  return resumeThread(repository, await suspended(repository, first, 'second'), 'the right one');
}

describe('a walk of a thread by its id', () => {
  test.each([
    ['waits', (repository: Repository, state: ThreadState) => suspended(repository, state, 'third')],
    ['goes on', (repository: Repository, state: ThreadState) => appendStep(repository, state, stepDraft())],
    [
      'has ended',
      (repository: Repository, state: ThreadState) =>
        endThread(repository, state, { outcome: 'failed', returnCode: 1, summary: 'it does not work' }),
    ],
  ])('that %s reaches every node of every commit', async (_, goOn) => {
    const place = createCliRepository();
    const repository = await place.open();
    const thread = await goOn(repository, await pausedTwice(repository));
    const expected = nodesByGit(place, thread);
    const titles = ['the left one', 'no first', 'said second', 'hm second', '{"at":"first"}', 'second'];

    const walked = await place.lines(['cas', 'walk', thread.id]);
    expect(walked[0]).toMatchObject({ hash: thread.head.hash });
    expect(walked.map(({ title }) => title)).toEqual(expect.arrayContaining(titles));
    const hashes = walked.map(({ hash }) => hash);
    expect(new Set(hashes).size).toBe(hashes.length);
    expect(new Set(hashes)).toEqual(expected);

    const embedded = await uwf.openRepository(place.dir);
    const types: (string | undefined)[] = [];
    const reached = new Set<string>();
    for await (const { hash, typeName } of uwf.walk(embedded, thread.id)) {
      types.push(typeName);
      reached.add(hash);
    }
    expect(reached).toEqual(expected);
    expect(types.filter((type) => type === 'thread-resume')).toHaveLength(2);
    await embedded.close();
  });

  test('reaches all that it links to as well, whatever happened in it', async () => {
    for (const seed of [1, 2, 3, 4, 5, 6]) {
      const place = createCliRepository();
      const repository = await place.open();
      const thread = await growThread(repository, createDice(seed));
      const walked = new Set((await place.lines(['cas', 'walk', thread.id])).map(({ hash }) => hash));
      const byLinks = (await place.lines(['cas', 'walk', thread.head.hash])).map(({ hash }) => hash);
      for (const hash of [...nodesByGit(place, thread), ...byLinks]) expect(walked, `seed ${seed}`).toContain(hash);
    }
  });
});

test('a walk of a node reaches what it links to and no more', async () => {
  const place = createCliRepository();
  const repository = await place.open();
  const thread = await appendStep(repository, await pausedTwice(repository), stepDraft());
  const types = (await place.lines(['cas', 'walk', thread.head.hash])).map(({ type }) => type);
  expect(types).toContain('thread-start');
  expect(types.filter((type) => /suspend|resume|attempt|schema$/.test(String(type)))).toEqual(['role-schema']);
});
