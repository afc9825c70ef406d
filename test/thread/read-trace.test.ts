import { describe, expect, test } from 'vitest';
import { appendStep, type StepDraft } from '../../src/thread/append-step.ts';
import { readTrace, type TurnDraft } from '../../src/thread/step-trace.ts';
import { readThreadCommit } from '../../src/thread/thread-commit.ts';
import { createMapRepository } from '../helpers/map-repository.ts';
import { watched } from '../helpers/watched-repository.ts';
import { forge } from '../verify/forge-commit.ts';
import { startLoop, stepAt, stepDraft } from './thread-fixture.ts';

function turnOf(name: string, more: Partial<TurnDraft> = {}): TurnDraft {
  return {
    input: `Do ${name}.`,
    output: `Did ${name}.`,
    parts: [],
    toolCalls: [],
    tokens: { input: 1, output: 2 },
    startedAtMs: 1_795_262_400_000,
    latencyMs: 5,
    ...more,
  };
}

const call = { name: 'Read File', arguments: '{"path":"a"}', result: 'text', isError: false, durationMs: 3 };

/** A thread with one step of this trace. */
async function traced(trace: StepDraft['trace']) {
  const repository = createMapRepository();
  const state = await appendStep(repository, await startLoop(repository), stepDraft({ trace }));
  return { repository, step: stepAt(state) };
}

const turnsOf = (...turns: TurnDraft[]): StepDraft['trace'] => ({ turns, durationMs: 12 });

describe('a trace', () => {
  test('is read back as it was handed in, with the places and hashes of its turns', async () => {
    const turns = [
      turnOf('one', {
        parts: [
          { kind: 'plan', text: 'First look.' },
          { kind: 'note', text: 'It is small.' },
          { kind: 'refusal', text: 'Not that one.' },
          { kind: 'thought', text: 'Hm.' },
        ],
        toolCalls: [call, { ...call, arguments: '{"path":"b"}', result: 'no such file', isError: true }],
        costUsd: 0.125,
      }),
      turnOf('two', {
        parts: [{ kind: 'thought', text: 'Hm again.' }],
        toolCalls: [{ ...call, result: 'not allowed', isError: true }, call],
      }),
      turnOf('three'),
    ];
    const { repository, step } = await traced(turnsOf(...turns));
    const { session, turns: read } = (await readTrace(repository, step))!;
    expect(session).toMatchObject({ role: 'writer', totalTokens: 9, durationMs: 12, agent: step.node.agent });
    expect(read).toStrictEqual(turns.map((turn, at) => ({ ...turn, number: at + 1, hash: session.turns[at] })));
  });

  test('is told of a turn with the files that lie in its own folder, whatever other turns have', async () => {
    const many = Array.from({ length: 11 }, (_, at) =>
      turnOf(`${at}`, { parts: [{ kind: at % 2 === 0 ? 'plan' : 'note', text: `${at}` }] }),
    );
    const parts = Array.from({ length: 11 }, (_, at) => ({ kind: at === 0 ? 'note' : 'plan', text: `${at}` }) as const);
    const toolCalls = Array.from({ length: 11 }, (_, at) => ({ ...call, arguments: `${at}`, isError: at === 10 }));
    const { repository, step } = await traced(turnsOf(...many, turnOf('last', { parts, toolCalls })));
    expect((await readTrace(repository, step))?.turns).toMatchObject([...many, { parts, toolCalls }]);
  });
});

test('two turns of the same words are told apart by the files in their folders', async () => {
  const one = turnOf('it', { parts: [{ kind: 'plan', text: 'x' }], toolCalls: [call] });
  const two = turnOf('it', { parts: [{ kind: 'note', text: 'x' }], toolCalls: [{ ...call, isError: true }] });
  const { repository, step } = await traced(turnsOf(one, two));
  const { session, turns } = (await readTrace(repository, step))!;
  expect(session.turns[0]).toBe(session.turns[1]);
  expect(turns).toMatchObject([one, two]);
});

describe('a part of a trace', () => {
  const trace = turnsOf(...Array.from({ length: 12 }, (_, at) => turnOf(String(at + 1))));

  test('ends in front of a turn that is named by its hash or the beginning of it, in either case', async () => {
    const { repository, step } = await traced(trace);
    const { session } = (await readTrace(repository, step, { limit: 0 }))!;
    for (const [place, hash] of session.turns.entries()) {
      for (const before of [hash, hash.toLowerCase(), hash.slice(0, 9)]) {
        expect((await readTrace(repository, step, { before, limit: 20 }))?.turns).toHaveLength(place);
      }
    }
    const hash = session.turns[2]!;
    await expect(readTrace(repository, step, { before: hash.slice(-9) })).rejects.toThrow('the trace has no turn');
  });

  test('costs the session and the turns that are asked for', async () => {
    const { repository, step } = await traced(trace);
    const spied = watched(repository);
    await readTrace(spied.repository, step, { limit: 1 });
    const session = 1;
    const turn = 3;
    expect(spied.read).toHaveLength(session + turn);
  });
});

describe('a changed trace', () => {
  const changed: Partial<TurnDraft> = {
    parts: [{ kind: 'plan', text: 'First look.' }],
    toolCalls: [{ ...call, isError: true }],
  };
  const readForged = async (change: Parameters<typeof forge>[2]): Promise<unknown> => {
    const { repository, step } = await traced(turnsOf(turnOf('one', changed)));
    const forged = await readThreadCommit(repository, forge(repository, step.id, change));
    if (forged.kind !== 'step') throw new Error('it is a step');
    return readTrace(repository, forged);
  };

  test('is refused where a text of it is not in the commit', async () => {
    const reading = readForged(({ files, listed }) => {
      files.delete('trace/001/input.md');
      listed.delete('trace/001/input.md');
    });
    await expect(reading).rejects.toMatchObject({ code: 'corrupt-thread' });
    await expect(reading).rejects.toThrow(/its trace names [0-9A-Z]{13}, which is not there$/);
  });

  test('has thoughts, and calls that went well, where no files are in the folder of the turn', async () => {
    const reading = readForged(({ files, listed }) => {
      for (const [path, hash] of listed) {
        if (!path.startsWith('trace/001/')) continue;
        files.set(path.replace('/001/', '/002/'), files.get(path)!);
        files.delete(path);
        listed.set(path.replace('/001/', '/002/'), hash);
        listed.delete(path);
      }
    });
    expect(await reading).toMatchObject({ turns: [{ parts: [{ kind: 'thought' }], toolCalls: [{ isError: false }] }] });
  });

  test('is refused where a node is of another type than its place asks for', async () => {
    const reading = readForged(({ node, listed }) => {
      node['react'] = listed.get('output.md')!;
    });
    await expect(reading).rejects.toMatchObject({ code: 'corrupt-thread' });
    await expect(reading).rejects.toThrow('output.md is no react-session');
  });
});
