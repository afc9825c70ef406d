import { readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import type { EngineEvent } from '../../../src/engine/events.ts';
import { prepareLeaseFolder } from '../../../src/engine/leases/lease-file.ts';
import { inSlot } from '../../../src/engine/leases/slots.ts';
import { createSlotFixture, stateOf, type SlotFixture } from './slot-fixture.ts';

let folder: string;
let events: EngineEvent[];
let engineOf: SlotFixture['engineOf'];
let slotsTaken: SlotFixture['slotsTaken'];
let takeSlotFile: SlotFixture['takeSlotFile'];

beforeEach(async () => {
  ({ folder, events, engineOf, slotsTaken, takeSlotFile } = await createSlotFixture());
});

describe('many threads of one process that wait', () => {
  const tickets = (): string[] => readdirSync(folder).filter((name) => name.startsWith('waiting-'));

  test('stand in one place of the order of processes, are told once, and go on in their order', async () => {
    const held = await takeSlotFile(1);
    const engine = engineOf(1);
    const order: number[] = [];
    const threads = Array.from({ length: 200 }, (_, at) =>
      inSlot(engine, stateOf(), async () => {
        expect(await slotsTaken()).toContain('1.json');
        order.push(at);
      }),
    );
    await expect.poll(() => events).toHaveLength(200);
    expect(tickets()).toHaveLength(1);
    held.release();
    await Promise.all(threads);
    expect(order).toEqual(order.toSorted((a, b) => a - b));
    expect(order).toHaveLength(200);
    expect(events).toHaveLength(200);
    expect(tickets()).toEqual([]);
  });

  test('let a process that waited before them go first, unless it does not renew its place', async () => {
    prepareLeaseFolder(folder);
    const before = join(folder, 'waiting-1000-other');
    const renew = (): void => writeFileSync(before, '');
    renew();
    const renewing = setInterval(renew, 50);
    const order: string[] = [];
    const working = inSlot(engineOf(1), stateOf(), () => Promise.resolve(order.push('this')));
    await expect.poll(tickets).toHaveLength(2);
    const held = await takeSlotFile(1);
    await expect.poll(() => events).toHaveLength(1);
    order.push('other');
    clearInterval(renewing);
    held.release();
    await working;
    expect(order).toEqual(['other', 'this']);
    expect(tickets()).toEqual([]);
  });
});

test('a ticket that a killed process left before the clock was set back holds up no thread', async () => {
  prepareLeaseFolder(folder);
  const left = join(folder, `waiting-${Date.now() - 1_000}-00000000-0000-0000-0000-000000000000`);
  writeFileSync(left, '1\n');
  const laterS = Date.now() / 1000 + 3_600;
  utimesSync(left, laterS, laterS);
  const done = inSlot(engineOf(1), stateOf(), async () => 'done');
  expect(await Promise.race([done, new Promise((resolve) => setTimeout(resolve, 4_000, 'waits'))])).toBe('done');
});
