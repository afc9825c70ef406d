import { describe, expect, test } from 'vitest';
import type { AgentEvent } from '../../../src/agent/contract.ts';
import { TraceRecorder, type TraceLimits } from '../../../src/engine/trace/trace-recorder.ts';
import type { TraceDraft } from '../../../src/thread/step-trace.ts';

const call = (id: string, name = 'read'): AgentEvent => ({ kind: 'tool-call', id, name, arguments: { path: id } });
const result = (id: string, text = `of ${id}`): AgentEvent => ({
  kind: 'tool-result',
  id,
  result: text,
  durationMs: 7.4,
});
const text = (said: string): AgentEvent => ({ kind: 'text', text: said });
const used = (inputTokens: number, outputTokens: number, costUsd?: number): { usage: never } => {
  // As agents tell it; the count of turns is not looked at here.
  return { usage: { inputTokens, outputTokens, turns: 1, ...(costUsd !== undefined && { costUsd }) } as never };
};

/** Records events, one ms apart, in one try. */
function record(events: readonly AgentEvent[], limits?: TraceLimits): TraceDraft | undefined {
  let nowMs = 1000;
  const recorder = new TraceRecorder(() => nowMs, limits);
  recorder.startTry('the prompt');
  for (const event of events) {
    nowMs += 1;
    recorder.record(event);
  }
  return recorder.finish();
}

describe('turns', () => {
  test('of an agent that says where they begin and end are as it says', () => {
    const trace = record([
      { kind: 'turn-start', input: 'the prompt' },
      text('Let me '),
      text('look.'),
      call('a'),
      { kind: 'turn-end', ...used(10, 2, 0.5) },
      result('a'),
      { kind: 'turn-start', input: 'of a' },
      text('Done.'),
      { kind: 'turn-end', ...used(20, 3, 0.25) },
    ]);
    expect(trace?.turns).toEqual([
      {
        input: 'the prompt',
        output: 'Let me look.',
        parts: [],
        toolCalls: [{ name: 'read', arguments: '{\n  "path": "a"\n}', result: 'of a', isError: false, durationMs: 7 }],
        tokens: { input: 10, output: 2 },
        costUsd: 0.5,
        startedAtMs: 1001,
        latencyMs: 4,
      },
      expect.objectContaining({
        input: 'of a',
        output: 'Done.',
        toolCalls: [],
        tokens: { input: 20, output: 3 },
        costUsd: 0.25,
        latencyMs: 2,
      }),
    ]);
    expect(trace?.durationMs).toBe(9);
  });

  test('of one that says nothing of them begin with the first event, and after the results of tools', () => {
    const trace = record([
      { kind: 'thought', text: 'I ' },
      { kind: 'thought', text: 'think' },
      call('a'),
      call('b'),
      result('b'),
      result('a'),
      text('and'),
      call('c'),
      result('c'),
      text('so it is'),
    ]);
    expect(
      trace?.turns.map(({ input, output, toolCalls }) => [input, output, toolCalls.map(({ result: got }) => got)]),
    ).toEqual([
      ['the prompt', '', ['of a', 'of b']],
      ['', 'and', ['of c']],
      ['', 'so it is', []],
    ]);
    expect(trace?.turns[0]?.parts).toEqual([{ kind: 'thought', text: 'I think' }]);
    // The model is asked when the last result is there, and has answered when it says its last.
    expect(trace?.turns.map(({ startedAtMs, latencyMs }) => [startedAtMs, latencyMs])).toEqual([
      [1000, 4],
      [1006, 2],
      [1009, 1],
    ]);
  });

  test('go on over the tries, the next of which begins with what the agent was told then', () => {
    const recorder = new TraceRecorder(() => 0);
    recorder.startTry('first');
    recorder.record(call('a'));
    recorder.record(text('wrong'));
    recorder.endTry({ inputTokens: 5, outputTokens: 1, turns: 1 });
    recorder.startTry('again');
    recorder.record(text('right'));
    recorder.endTry({ inputTokens: 7, outputTokens: 2, turns: 1 });
    expect(recorder.finish()?.turns).toMatchObject([
      { input: 'first', output: 'wrong', tokens: { input: 5, output: 1 } },
      { input: 'again', output: 'right', tokens: { input: 7, output: 2 } },
    ]);
  });
});

describe('what is recorded', () => {
  test('is nothing where the agent only spoke', () => {
    expect(record([text('The reply.'), { kind: 'usage', ...used(1, 1) }, { kind: 'process-group', pgid: 1 }])).toBe(
      undefined,
    );
  });

  test('keeps the newest of a plan, and everything an agent was kept from', () => {
    const trace = record([
      { kind: 'plan', text: '1. look' },
      { kind: 'plan', text: '1. look\n2. write' },
      { kind: 'refusal', text: '/etc/passwd is outside' },
      { kind: 'refusal', text: '/root is outside' },
    ]);
    expect(trace?.turns[0]?.parts).toEqual([
      { kind: 'plan', text: '1. look\n2. write' },
      { kind: 'refusal', text: '/etc/passwd is outside' },
      { kind: 'refusal', text: '/root is outside' },
    ]);
  });

  test('has the last of what a call was said to be, its failure, and that there was no result', () => {
    const trace = record([
      call('a', 'edit'),
      { kind: 'tool-call', id: 'a', name: 'edit file', arguments: 'whole' },
      { kind: 'tool-result', id: 'a', result: 'no such file', durationMs: 1, isError: true },
      call('a', 'again'),
      { kind: 'tool-result', id: 'nobody', result: 'x', durationMs: 1 },
    ]);
    expect(trace?.turns.flatMap(({ toolCalls }) => toolCalls)).toEqual([
      { name: 'edit file', arguments: 'whole', result: 'no such file', isError: true, durationMs: 1 },
      {
        name: 'again',
        arguments: '{\n  "path": "a"\n}',
        result: '[uwf: no result was reported]\n',
        isError: true,
        durationMs: 0,
      },
    ]);
  });

  test('gives the turn that goes on what was used since the last telling', () => {
    const trace = record([
      call('a'),
      { kind: 'usage', ...used(100, 10, 0.1) },
      result('a'),
      text('b'),
      { kind: 'usage', ...used(250, 15, 0.3) },
      { kind: 'usage', ...used(260, 16, 0.3) },
    ]);
    expect(trace?.turns.map(({ tokens }) => tokens)).toEqual([
      { input: 100, output: 10 },
      { input: 160, output: 6 },
    ]);
    expect(trace?.turns[1]?.costUsd).toBeCloseTo(0.2);
  });

  test('gives each turn its share of what came from caches and went into them', () => {
    const cached = (cacheReadTokens: number, cacheWriteTokens?: number): AgentEvent => ({
      kind: 'usage',
      usage: {
        inputTokens: 100 + cacheReadTokens,
        outputTokens: 10,
        turns: 1,
        cacheReadTokens,
        ...(cacheWriteTokens !== undefined && { cacheWriteTokens }),
      },
    });
    const trace = record([call('a'), cached(50), result('a'), text('b'), cached(80, 7)]);
    expect(trace?.turns.map(({ tokens }) => tokens)).toEqual([
      { input: 150, output: 10, cacheRead: 50 },
      { input: 30, output: 0, cacheRead: 30, cacheWrite: 7 },
    ]);
  });

  test('counts nothing twice where turns and the whole are told', () => {
    const trace = record([
      { kind: 'turn-start', input: '' },
      { kind: 'usage', ...used(4, 1) },
      { kind: 'turn-end', ...used(10, 2) },
      { kind: 'usage', ...used(10, 2) },
      { kind: 'turn-start', input: '' },
      { kind: 'turn-end', ...used(5, 1) },
      { kind: 'usage', ...used(15, 3) },
    ]);
    expect(trace?.turns.map(({ tokens }) => tokens)).toEqual([
      { input: 10, output: 2 },
      { input: 5, output: 1 },
    ]);
  });
});

describe('limits', () => {
  const limits = (maxItems: number): TraceLimits => ({ text: { head: 6, tail: 4 }, totalBytes: 1e6, maxItems });

  test('cut each text, and say so', () => {
    const trace = record([call('a'), result('a', '0123456789abcdef')], limits(100));
    expect(trace?.turns[0]?.toolCalls[0]?.result).toBe('012345\n[uwf left 6 bytes out here]\ncdef');
  });

  test('end a trace that is full; what is left out is counted in a note, and no token is lost', () => {
    const events: AgentEvent[] = [];
    for (let number = 1; number <= 50; number += 1) {
      events.push({ kind: 'turn-start', input: 'x' }, call(`c${number}`), result(`c${number}`));
      events.push({ kind: 'turn-end', ...used(1, 1) });
    }
    const trace = record(events, limits(20));
    const turns = trace?.turns ?? [];
    const calls = turns.flatMap(({ toolCalls }) => toolCalls);
    // The first turn is kept in any case.
    expect(turns.length + calls.length).toBe(21);
    expect(turns.at(-1)?.parts.at(-1)).toEqual({
      kind: 'note',
      text: `uwf left out of this trace, which was full: ${50 - turns.length} turns, ${50 - calls.length} tool calls, 0 thoughts and the like\n`,
    });
    expect(turns.reduce((sum, { tokens }) => sum + tokens.input, 0)).toBe(50);
  });
});

test('a clock that is set back during a turn makes no time negative', () => {
  let nowMs = 5_000;
  const recorder = new TraceRecorder(() => (nowMs -= 1_000));
  recorder.startTry('the prompt');
  recorder.record(text('Done.'));
  recorder.record(call('a'));
  const trace = recorder.finish();
  expect(trace).toMatchObject({ durationMs: 0, turns: [{ latencyMs: 0 }] });
});
