import { describe, expect, test } from 'vitest';
import { isNodeHash, type NodeHash } from '../../../src/cas/node-hash.ts';
import { layoutTimeline, type Span } from '../../../src/web/parts/thread-timeline.tsx';
import { parseThreadId } from '../../../src/thread/thread-id.ts';

const HOUR_MS = 3_600_000;
const hash = '0123456789ABC';
const usage = { inputTokens: 10, outputTokens: 1, turns: 1 };

function step(role: string, number: number, fromMs: number, untilMs: number): Span {
  return { kind: 'step', role, number, step: nodeHash(), fromMs, untilMs, isOpen: false, usage };
}

function child(fromMs: number, untilMs: number): Span {
  const thread = parseThreadId('01KAM40000000000000000000A');
  return { kind: 'child', role: 'builder', thread, workflow: 'part', key: '', fromMs, untilMs, isOpen: false, usage };
}

function nodeHash(): NodeHash {
  if (!isNodeHash(hash)) throw new Error('it is a hash');
  return hash;
}

const rowsOf = (spans: Span[]): [string, boolean, number][] =>
  layoutTimeline(spans).lanes.map(({ name, isOfChildren, bars }) => [name, isOfChildren, bars.length]);

describe('layoutTimeline', () => {
  test('makes a long wait short, and says how long it was', () => {
    const spans = [
      step('a', 1, 0, 60_000),
      step('b', 2, 61_000, 120_000),
      step('a', 3, 3 * HOUR_MS, 3 * HOUR_MS + 60_000),
    ];
    const { gaps, workedMs, idleMs, lanes, width } = layoutTimeline(spans);
    expect(gaps.map(({ label }) => label)).toEqual(['2 h 58 min']);
    expect([workedMs, idleMs]).toEqual([179_000, 1_000 + 3 * HOUR_MS - 120_000]);
    expect(width).toBeLessThan(800);
    const [first, third] = lanes[0]?.bars ?? [];
    // Bars of the same length are as wide, and follow each other.
    expect(Math.abs((first?.width ?? 0) - (third?.width ?? 0))).toBeLessThanOrEqual(1);
    expect(third?.x).toBeGreaterThan((lanes[1]?.bars[0]?.x ?? 0) + (lanes[1]?.bars[0]?.width ?? 0));
    expect(lanes[0]?.usage).toEqual({ inputTokens: 20, outputTokens: 2, turns: 2 });
  });

  test('counts no time as work in which a child and its caller wait for a person', () => {
    const waits: Span = {
      kind: 'wait',
      role: 'builder',
      reason: 'Which one?',
      suspension: nodeHash(),
      fromMs: 60_000,
      untilMs: 5 * HOUR_MS,
      isOpen: true,
      usage: null,
    };
    const { gaps, workedMs, idleMs } = layoutTimeline([child(0, 5 * HOUR_MS), waits]);
    expect([workedMs, idleMs]).toEqual([60_000, 5 * HOUR_MS - 60_000]);
    expect(gaps.map(({ label }) => label)).toEqual(['4 h 59 min']);
  });

  test('is not wider where short gaps take as long as the work between them', () => {
    const spans = Array.from({ length: 20 }, (_, at) => step('a', at, at * 8_000, at * 8_000 + 4_000));
    const { gaps, width } = layoutTimeline(spans);
    expect(gaps).toEqual([]);
    expect(width).toBeLessThan(650);
  });

  test('puts children that worked at once beside each other, below their caller', () => {
    const spans = [
      step('builder', 1, 0, 1000),
      child(10, 500),
      child(20, 300),
      child(400, 600),
      step('other', 2, 1000, 2000),
    ];
    expect(rowsOf(spans)).toEqual([
      ['builder', false, 1],
      ['builder', true, 1],
      ['builder', true, 2],
      ['other', false, 1],
    ]);
  });

  test('shows what took no time, and time that ran backwards', () => {
    const { lanes, width } = layoutTimeline([step('a', 1, 50, 50), step('a', 2, 50, 40)]);
    for (const bar of lanes[0]?.bars ?? []) expect(bar.width).toBeGreaterThan(5);
    expect(width).toBeGreaterThan(0);
  });
});
