import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { messageOf } from '../../src/errors.ts';
import type { TurnJob, TurnQueue, Work, WorkOptions } from '../../src/worker/turn-queue.ts';
import { TurnDesk } from './turn-desk.ts';

/** A place where queues meet, and threads to offer. */
export type TurnQueueFixture = {
  /** Makes the queue of one more machine. */
  makeQueue(): Promise<TurnQueue>;
  /** Makes a thread whose next role has these needs, and returns what is offered of it. */
  seedThread(needs?: readonly string[]): Promise<TurnJob>;
  /** Takes a job away from its worker, as a worker does that believes it has ended. */
  takeAway(job: TurnJob): Promise<void>;
  /** How many threads are many. */
  many: number;
  /** Is called after the queues were closed. */
  dispose(): Promise<void>;
};

/** What every queue of turns has to do. */
export function describeTurnQueue(name: string, create: () => Promise<TurnQueueFixture>): void {
  describe(`${name} as a queue of turns`, () => {
    let fixture: TurnQueueFixture;
    let queues: TurnQueue[];
    let works: Work[];
    let troubles: string[];

    beforeEach(async () => {
      fixture = await create();
      [queues, works, troubles] = [[], [], []];
    });
    afterEach(async () => {
      await Promise.all(works.map((work) => work.giveBack()));
      for (const queue of queues) await queue.close();
      await fixture.dispose();
    });

    const machine = async (): Promise<TurnQueue> => {
      const queue = await fixture.makeQueue();
      queues.push(queue);
      return queue;
    };
    const start = async (desk: TurnDesk, options: Partial<WorkOptions> = {}): Promise<Work> => {
      const all = {
        atOnce: 1,
        labels: [],
        onTrouble: (trouble: unknown, thread?: string) =>
          void troubles.push(`${thread === undefined ? '' : `thread ${thread}: `}${messageOf(trouble)}`),
        ...options,
      };
      const work = await (await machine()).work(desk.take, all);
      works.push(work);
      return work;
    };
    const seed = async (count: number, needs?: readonly string[]): Promise<TurnJob[]> => {
      const jobs: TurnJob[] = [];
      for (let n = 0; n < count; n++) jobs.push(await fixture.seedThread(needs));
      return jobs;
    };
    const threadsOf = (jobs: readonly TurnJob[]): string[] => jobs.map(({ thread }) => thread).toSorted();

    test('gives out what was offered, also what was offered before there was a worker', async () => {
      const [early, late] = await seed(2);
      const sender = await machine();
      await sender.offer([early!]);
      const desk = new TurnDesk();
      await start(desk, { atOnce: 2 });
      expect((await desk.next()).job).toEqual(early);
      await sender.offer([late!]);
      expect((await desk.next()).job).toEqual(late);
      expect(troubles).toEqual([]);
    });

    test('gives out a head once, however often it is offered until its turn ends', async () => {
      const [job, other] = await seed(2);
      const [one, two] = [await machine(), await machine()];
      await one.offer([job!, job!]);
      await two.offer([job!]);
      const desk = new TurnDesk();
      await start(desk, { atOnce: 3 });
      await start(desk, { atOnce: 3 });
      await desk.next();
      await one.offer([job!]);
      await two.offer([job!]);
      await two.offer([other!]);
      expect((await desk.next()).job).toEqual(other);
      expect(desk.taken).toHaveLength(2);
    });

    test('gives each job to one of several workers, and work to all of them', async () => {
      const jobs = await seed(12);
      const desks = [new TurnDesk(), new TurnDesk(), new TurnDesk()];
      for (const desk of desks) await start(desk);
      await (await machine()).offer(jobs);
      // Each holds its first turn until all have one.
      const first = await Promise.all(desks.map((desk) => desk.next()));
      for (const turn of first) turn.answer('done');
      for (const desk of desks) desk.answerAll('done');
      await Promise.race(desks.map((desk) => desk.hasTaken(jobs.length)).concat(allTaken(desks, jobs.length)));
      const taken = desks.flatMap((desk) => desk.taken.map(({ job }) => job));
      expect(threadsOf(taken)).toEqual(threadsOf(jobs));
    });

    test('gives a worker no more jobs at once than it takes', async () => {
      const jobs = await seed(7);
      const desk = new TurnDesk();
      await start(desk, { atOnce: 3 });
      await (await machine()).offer(jobs);
      const turns = [await desk.next(), await desk.next(), await desk.next()];
      for (let n = 3; n < jobs.length; n++) {
        turns.shift()?.answer('done');
        turns.push(await desk.next());
      }
      expect(desk.mostAtOnce).toBe(3);
      expect(threadsOf(desk.taken.map(({ job }) => job))).toEqual(threadsOf(jobs));
    });

    test('gives a worker the jobs whose needs are all among its labels, and no others', async () => {
      const [plain] = await seed(1);
      const [gpu] = await seed(1, ['gpu']);
      const [both] = await seed(1, ['docker', 'gpu']);
      const sender = await machine();
      await sender.offer([both!, gpu!, plain!]);
      const [none, some, all] = [new TurnDesk(), new TurnDesk(), new TurnDesk()];
      await start(none, { atOnce: 5 });
      expect((await none.next()).job).toEqual(plain);
      await start(some, { atOnce: 5, labels: ['arm', 'gpu'] });
      expect((await some.next()).job).toEqual(gpu);
      await start(all, { atOnce: 5, labels: ['gpu', 'arm', 'docker'] });
      expect((await all.next()).job).toEqual(both);
      const [last] = await seed(1);
      await sender.offer([last!]);
      await Promise.race([none.next(), some.next(), all.next()]);
      expect([none, some, all].flatMap((desk) => desk.taken)).toHaveLength(4);
    });

    test('gives out jobs with needs that no job had before the worker began', async () => {
      const desk = new TurnDesk();
      await start(desk, { atOnce: 2, labels: ['gpu:a100', 'host=x', 'ß'] });
      const [job] = await seed(1, ['gpu:a100', 'ß']);
      await (await machine()).offer([job!]);
      expect((await desk.next()).job).toEqual(job);
    });

    test.each(['done', 'stale'] as const)('a head whose turn was %s can be offered again', async (verdict) => {
      const [job] = await seed(1);
      const sender = await machine();
      const desk = new TurnDesk();
      await start(desk);
      await sender.offer([job!]);
      for (let n = 0; n < 3; n++) {
        const turn = await desk.next();
        expect(turn.job).toEqual(job);
        turn.answer(verdict);
        await desk.offeredUntilTaken(() => sender.offer([job!]));
      }
    });

    test('offers a job that is to be tried again by itself, to any worker', async () => {
      const [job, other] = await seed(2);
      const desk = new TurnDesk();
      const work = await start(desk);
      await (await machine()).offer([job!, other!]);
      const first = await desk.next();
      first.answer('again');
      // It does not keep the worker from other jobs meanwhile.
      const second = await desk.next();
      expect(second.job).not.toEqual(first.job);
      second.answer('done');
      const again = await desk.next();
      expect(again.job).toEqual(first.job);
      again.answer('again');
      await work.finish();
      const later = new TurnDesk();
      await start(later);
      expect((await later.next()).job).toEqual(first.job);
    });

    test('a worker that finishes ends its turns and begins no others', async () => {
      const jobs = await seed(4);
      const desk = new TurnDesk();
      const work = await start(desk, { atOnce: 2 });
      await (await machine()).offer(jobs);
      const turns = [await desk.next(), await desk.next()];
      const order: string[] = [];
      const finished = work.finish().then(() => order.push('finished'));
      expect(turns.map(({ lock }) => lock.signal.aborted)).toEqual([false, false]);
      for (const turn of turns) {
        order.push('answered');
        turn.answer('done');
      }
      await finished;
      expect(order).toEqual(['answered', 'answered', 'finished']);
      expect(desk.taken).toHaveLength(2);
      const other = new TurnDesk();
      await start(other, { atOnce: 4 });
      const rest = [await other.next(), await other.next()];
      expect(threadsOf([...turns, ...rest].map(({ job }) => job))).toEqual(threadsOf(jobs));
    });

    test('a worker that gives back stops its turns, and another gets their jobs', async () => {
      const jobs = await seed(2);
      const desk = new TurnDesk();
      const work = await start(desk, { atOnce: 2 });
      await (await machine()).offer(jobs);
      const turns = [await desk.next(), await desk.next()];
      for (const turn of turns) turn.lock.signal.addEventListener('abort', () => turn.answer('again'));
      await work.giveBack();
      expect(turns.map(({ lock }) => lock.signal.aborted)).toEqual([true, true]);
      const other = new TurnDesk();
      await start(other, { atOnce: 2 });
      const given = [await other.next(), await other.next()];
      expect(threadsOf(given.map(({ job }) => job))).toEqual(threadsOf(jobs));
    });

    test('a worker that finishes can still give back', async () => {
      const [job] = await seed(1);
      const desk = new TurnDesk();
      const work = await start(desk);
      await (await machine()).offer([job!]);
      const turn = await desk.next();
      const finished = work.finish();
      turn.lock.signal.addEventListener('abort', () => turn.answer('again'));
      await work.giveBack();
      await finished;
      expect(troubles).toEqual([]);
      const other = new TurnDesk();
      await start(other);
      expect((await other.next()).job).toEqual(job);
    });

    test('a worker gives back whenever it is told to, also while it takes a job', async () => {
      const [job] = await seed(1);
      await (await machine()).offer([job!]);
      for (let ms = 20; ms < 400; ms += 20) {
        const work = await start(new TurnDesk());
        await delay(ms);
        await work.giveBack();
      }
      const desk = new TurnDesk();
      await start(desk);
      expect((await desk.next()).job).toEqual(job);
    });

    test('a turn that left nothing is told to the worker that gets its job, and one that is given back is none', async () => {
      const [job] = await seed(1);
      await (await machine()).offer([job!]);
      const losses: (readonly string[])[] = [];
      for (const what of ['it failed', undefined, 'it failed again', undefined]) {
        const desk = new TurnDesk();
        const work = await start(desk);
        const turn = await desk.next();
        losses.push(turn.lock.losses);
        if (what !== undefined) {
          turn.lock.lose(what);
          turn.answer('again');
        }
        await work.giveBack();
      }
      expect(losses).toEqual([[], ['it failed'], ['it failed'], ['it failed', 'it failed again']]);
    });

    test('a worker whose job was taken away is told to stop, and goes on with other jobs', async () => {
      const [job, other] = await seed(2);
      const sender = await machine();
      const desk = new TurnDesk();
      await start(desk);
      await sender.offer([job!]);
      const turn = await desk.next();
      await fixture.takeAway(turn.job);
      await new Promise((resolve) => turn.lock.signal.addEventListener('abort', resolve));
      await sender.offer([other!]);
      turn.answer('again');
      expect((await desk.next()).job).toEqual(other);
    });

    test('gives out many jobs, each once', async () => {
      const jobs = await seed(fixture.many);
      const desks = [new TurnDesk(), new TurnDesk()];
      for (const desk of desks) {
        desk.answerAll('done');
        await start(desk, { atOnce: 20 });
      }
      await (await machine()).offer(jobs);
      await allTaken(desks, jobs.length);
      const taken = desks.flatMap((desk) => desk.taken.map(({ job }) => job));
      expect(threadsOf(taken)).toEqual(threadsOf(jobs));
      expect(troubles).toEqual([]);
    });
  });
}

/** Waits until the desks have taken so many turns together. */
async function allTaken(desks: readonly TurnDesk[], count: number): Promise<void> {
  const sum = (): number => desks.reduce((total, { taken }) => total + taken.length, 0);
  while (sum() < count) await Promise.race(desks.map((desk) => desk.hasTaken(desk.taken.length + 1)));
}
