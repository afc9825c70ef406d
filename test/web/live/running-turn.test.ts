import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { journalPaths } from '../../../src/engine/journal/journal.ts';
import type { JsonObject } from '../../../src/json.ts';
import { parseThreadId } from '../../../src/thread/thread-id.ts';
import { readRunningTurn, type RunningTurn } from '../../../src/web/live/running-turn.ts';
import { createTemporaryRepository } from '../../helpers/temporary-repository.ts';

const thread = parseThreadId('01KAM400000000000000000001');
const holder = { pid: 1, host: 'here', since: '2026-11-25T00:00:00Z' };
const text = { event: 'agent.text', thread, role: 'writer', text: 'and so on', at: 5 };
const started = { event: 'step.started', thread, role: 'writer', number: 4, agent: 'bot', attempt: 0, at: 4 };

/** The turn that a journal with some entries shows. */
async function turnOf(entries: readonly JsonObject[], isHeld = true): Promise<RunningTurn | undefined> {
  const repository = await createTemporaryRepository().open();
  const { current } = journalPaths(repository.stateDir ?? '', thread);
  mkdirSync(dirname(current), { recursive: true });
  writeFileSync(current, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
  return readRunningTurn(repository, { thread, steps: 3, nextRole: 'writer', holder: isHeld ? holder : null }).turn;
}

test('a turn of which the journal has the start is shown from there', async () => {
  expect(await turnOf([{ ...text, text: 'before' }, started, text])).toEqual({
    role: 'writer',
    agent: 'bot',
    number: 4,
    startedAtMs: 4,
    parts: [{ kind: 'text', text: 'and so on' }],
  });
});

test('a limit that does not hold is named in the turn', async () => {
  const unkept = { event: 'limits.unkept', thread, role: 'writer', agent: 'bot', limits: ['maxTokens'], at: 4 };
  const turn = await turnOf([started, { ...unkept, text: 'bot is silent', hint: 'maxTurns holds' }, text]);
  expect(turn?.parts[0]).toEqual({ kind: 'notice', text: 'no limit: bot is silent; maxTurns holds' });
});

test('a turn that has said so much that the journal let go of its start is shown, and says so', async () => {
  const turn = await turnOf([text, { ...text, text: '.' }]);
  expect(turn).toMatchObject({ role: 'writer', number: 4, startedAtMs: 5 });
  expect(turn?.parts).toEqual([
    { kind: 'notice', text: 'the beginning of this turn is left out' },
    { kind: 'text', text: 'and so on.' },
  ]);
});

test.each<[string, JsonObject[], boolean]>([
  ['nothing is said', [{ event: 'debug', thread, message: 'lease taken', at: 4 }], true],
  ['the turn has ended', [text, { event: 'step.finished', thread, at: 6 }], true],
  ['no process works', [text], false],
])('no turn is shown where %s', async (_, entries, isHeld) => {
  expect(await turnOf(entries, isHeld)).toBeUndefined();
});
