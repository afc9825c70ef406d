import { describe, expect, test } from 'vitest';
import type { Repository } from '../../src/git/repository.ts';
import { appendStep } from '../../src/thread/append-step.ts';
import {
  endThread,
  reopenThread,
  resumeThread,
  suspendThread,
  type SuspensionDraft,
} from '../../src/thread/thread-verbs.ts';
import { readSaid } from '../../src/thread/read-said.ts';
import type { ThreadState } from '../../src/thread/thread-state.ts';
import { createMapRepository } from '../helpers/map-repository.ts';
import { watched } from '../helpers/watched-repository.ts';
import { agent, startLoop, stepDraft } from './thread-fixture.ts';

const waits: SuspensionDraft = {
  role: 'writer',
  reason: 'Which metre?',
  cause: 'agent',
  text: 'I cannot choose.',
  prompt: 'p',
  agent,
  rule: 0,
  usage: { inputTokens: 3, outputTokens: 4, turns: 1 },
  attempts: [{ text: 'no front matter', errors: ['$status is missing', 'and words'], usage: null }],
};

/** Task, question, answer, step 1, step 2, question, answer, failed turn, go-ahead, step 3, question. */
async function muchSaid(repository: Repository): Promise<ThreadState> {
  let state = await startLoop(repository);
  state = await suspendThread(repository, state, waits);
  state = await resumeThread(repository, state, 'Iambic.');
  state = await appendStep(repository, state, stepDraft({ text: 'One.' }));
  state = await appendStep(repository, state, stepDraft({ text: 'Two.' }));
  state = await suspendThread(repository, state, { ...waits, text: undefined, reason: 'How long?', attempts: [] });
  state = await resumeThread(repository, state, 'Short.');
  state = await suspendThread(repository, state, { ...waits, cause: 'timeout', reason: 'too slow', text: 'I had beg' });
  state = await resumeThread(repository, state, undefined);
  state = await appendStep(repository, state, stepDraft({ text: 'Three.' }));
  return suspendThread(repository, state, { ...waits, reason: 'Good?' });
}

/** `1:One.`, `suspend:Which metre?|I cannot choose.`, `resume:Iambic.` */
async function toldAs(
  repository: Repository,
  ...of: Parameters<typeof readSaid> extends [unknown, ...infer R] ? R : never
) {
  const said = await readSaid(repository, ...of);
  return said.map((entry) =>
    entry.kind === 'suspend'
      ? `suspend:${entry.reason}|${entry.text}`
      : `${entry.kind === 'resume' ? 'resume' : entry.number}:${entry.text}`,
  );
}

const all = [
  '0:Write a poem.',
  'suspend:Which metre?|I cannot choose.',
  'resume:Iambic.',
  '1:One.',
  '2:Two.',
  'suspend:How long?|',
  'resume:Short.',
  'suspend:too slow|I had beg',
  'resume:',
  '3:Three.',
  'suspend:Good?|I cannot choose.',
];

describe('what was said in a thread', () => {
  test('is read in pieces that lose nothing and say nothing twice', async () => {
    const repository = createMapRepository();
    const { id } = await muchSaid(repository);
    for (const limit of [1, 2, 3, 4]) {
      const pieces: string[] = [];
      for (let before = 4; !pieces[0]?.startsWith('0:'); before -= limit) {
        pieces.unshift(...(await toldAs(repository, id, { limit, before })));
      }
      expect(pieces).toEqual(all);
    }
    expect(await toldAs(repository, id, { limit: 1 })).toEqual(all.slice(-2));
    expect(await toldAs(repository, id, { limit: 1, before: 3 })).toEqual(all.slice(4, 9));
    expect(await toldAs(repository, id, { before: 1 })).toEqual(all.slice(0, 3));
  });

  test('is read no further than it is wanted', async () => {
    const long = createMapRepository();
    const { id } = await muchSaid(long);
    const { repository, read } = watched(long);
    await readSaid(repository, id, { limit: 1 });
    const texts = (await Promise.all(read.map((object) => long.objects.read(object)))).map((object) =>
      Buffer.from(object?.data ?? []).toString('utf8'),
    );
    expect(texts).toContain('Three.');
    expect(texts).not.toContain('Two.');
    expect(texts).not.toContain('Short.');
  });

  test('names the end of a thread that was taken up again', async () => {
    const repository = createMapRepository();
    const one = await appendStep(repository, await startLoop(repository), stepDraft({ text: 'One.' }));
    const ended = await endThread(repository, one, { outcome: 'completed', returnCode: 0, summary: 'ok' });
    const again = await reopenThread(repository, ended, 'More.');
    expect((await readSaid(repository, again.id)).at(-1)).toMatchObject({
      kind: 'resume',
      text: 'More.',
      suspension: ended.head.hash,
      resumption: again.head.hash,
    });
  });
});
