import { readdirSync } from 'node:fs';
import { beforeEach, describe, expect, test } from 'vitest';
import type { EngineContext } from '../../../src/engine/engine-context.ts';
import type { EngineEvent } from '../../../src/engine/events.ts';
import { inSlot } from '../../../src/engine/leases/with-thread.ts';
import { Interrupted } from '../../../src/engine/limits/limits.ts';
import { createSlotFixture, stateOf, type SlotFixture } from './slot-fixture.ts';

let folder: string;
let events: EngineEvent[];
let engineOf: SlotFixture['engineOf'];
let takeSlotFile: SlotFixture['takeSlotFile'];

beforeEach(async () => {
  ({ folder, events, engineOf, takeSlotFile } = await createSlotFixture());
});

describe('the slot of a thread that waits for children', () => {
  const taken = (): string[] => readdirSync(folder).filter((name) => name.endsWith('.json'));
  const gate = (): { opened: Promise<void>; open: () => void } => {
    let open: () => void = () => {};
    return { opened: new Promise((resolve) => (open = resolve)), open };
  };

  test('is free until no child is waited for, and is taken before the outcome is told', async () => {
    const [first, second] = [gate(), gate()];
    await inSlot(engineOf(1), stateOf(), async ({ outsideSlot }) => {
      const waits = [outsideSlot(() => first.opened), outsideSlot(() => second.opened)];
      expect(taken()).toEqual([]);
      first.open();
      await waits[0];
      expect(taken()).toEqual([]);
      second.open();
      await waits[1];
      expect(taken()).toEqual(['1.json']);
      await expect(outsideSlot(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
      expect(taken()).toEqual(['1.json']);
    });
    expect(taken()).toEqual([]);
    expect(events).toEqual([]);
  });

  test('can be had by the child, and by the child of the child', async () => {
    const engine = engineOf(1);
    const depths: string[][] = [];
    const work = async (inner: EngineContext, depth: number): Promise<void> => {
      depths.push(taken());
      if (depth > 0) await inner.outsideSlot(() => inSlot(inner, stateOf(), (below) => work(below, depth - 1)));
      depths.push(taken());
    };
    await inSlot(engine, stateOf(), (inner) => work(inner, 2));
    expect(depths).toEqual(Array.from({ length: 6 }, () => ['1.json']));
    expect(events).toEqual([]);
  });

  test('is not taken again for a thread that has begun to wait for another child meanwhile', async () => {
    const [child, later] = [gate(), gate()];
    const slot = await takeSlotFile(2);
    await inSlot(engineOf(2), stateOf(), async ({ outsideSlot }) => {
      const first = outsideSlot(() => child.opened);
      const other = await takeSlotFile(1);
      child.open();
      await expect.poll(() => events).toHaveLength(1);
      const second = outsideSlot(() => later.opened);
      await first;
      other.release();
      slot.release();
      expect(taken()).toEqual([]);
      later.open();
      await second;
      expect(taken()).toEqual(['1.json']);
    });
    expect(taken()).toEqual([]);
  });

  test('is not waited for when the engine is told to stop', async () => {
    const stop = new AbortController();
    const child = gate();
    const working = inSlot(engineOf(1, { signal: stop.signal }), stateOf(), async ({ outsideSlot }) => {
      const wait = outsideSlot(() => child.opened);
      await takeSlotFile(1);
      child.open();
      await wait;
    });
    await expect.poll(() => events).toHaveLength(1);
    stop.abort(new Error('told to'));
    await expect(working).rejects.toThrow(Interrupted);
  });
});

test('200 threads of a process that wait are told once, and each has its turn, one at a time', async () => {
  const held = await takeSlotFile(1);
  const engine = engineOf(1);
  let atWork = 0;
  const work = async (): Promise<number> => {
    atWork += 1;
    await new Promise((resolve) => setTimeout(resolve, 1));
    atWork -= 1;
    return atWork;
  };
  const threads = Array.from({ length: 200 }, () => inSlot(engine, stateOf(), work));
  await expect.poll(() => events).toHaveLength(200);
  held.release();
  expect(await Promise.all(threads)).toEqual(Array(200).fill(0));
  expect(events).toHaveLength(200);
});
