import { expect, test } from 'vitest';
import { describeThread } from '../../src/engine/describe/describe.ts';
import { readingContext } from '../../src/engine/engine-context.ts';
import { expectCleanFsck } from '../helpers/temporary-repository.ts';
import { startWorker } from '../helpers/worker-process.ts';
import {
  commandOf,
  createTeam,
  pageOf,
  person,
  terminalOf,
  type Channel,
  type Desk,
  type Given,
  type Question,
} from './question-scene.ts';
import { startUwf, until } from './scene.ts';

/** `SUITE_QUESTIONS=200 SUITE_QUESTIONS_SEED=7` makes it longer; a seed draws the same again, and not at the same moments. */
const QUESTIONS = Number(process.env['SUITE_QUESTIONS'] ?? 8);
const SEED = Number(process.env['SUITE_QUESTIONS_SEED'] ?? 1);
/** So many threads are answered at the same time. */
const LANES = 3;

type Row = Record<string, unknown>;
type Random = (below: number) => number;

/** Numbers in a sequence that the seed decides. */
function createRandom(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function shuffled<T>(all: readonly T[], random: Random): T[] {
  const left = [...all];
  return all.flatMap(() => left.splice(random(left.length), 1));
}

/** A thread that people answer, and where. */
type Played = { root: string; desk: Desk; isShared: boolean };

test(`each question has one answer, and each answer its person (seed ${SEED})`, async () => {
  const [ann, bob] = [person('Ann'), person('Bob')];
  const { remote, desks, box } = await createTeam(ann, bob);
  const [laptop, tower] = desks as [Desk, Desk];
  const worker = startWorker(box.dir, ['--poll', '200ms', '--at-once', '2', '--name', 'box']);
  const given: Given[] = [];
  const played: Played[] = [];
  let asked = 0;
  const isDone = (): boolean => asked >= QUESTIONS;

  const channelsOf = ({ desk, isShared }: Played): Channel[] => {
    const on = ['--on', 'origin', '--background'];
    if (isShared) return [commandOf(laptop, ann, on), commandOf(tower, bob, on), commandOf(laptop, bob, on)];
    return [...[ann, bob].flatMap((who) => [terminalOf(desk, who), commandOf(desk, who)]), pageOf(desk)];
  };

  /** One question, or the two of a block, is answered by one to three people at once. */
  const answer = async (thread: Played, questions: readonly Question[], random: Random): Promise<void> => {
    const chosen = shuffled(questions, random).slice(0, 1 + random(questions.length));
    asked += chosen.length;
    const free = shuffled(channelsOf(thread), random);
    const parts = chosen.flatMap((question, at) => {
      const others = chosen.length - at - 1;
      const count = Math.min(1 + random(3), free.length - others);
      return free.splice(0, count).map((channel) => ({ question, channel, token: `tok${random(2 ** 31)}` }));
    });
    const ready = await Promise.all(parts.map(({ channel, question, token }) => channel.prepare(question, token)));
    await Promise.all(
      parts.map(async ({ question, channel: { name, by }, token }, at) => {
        const { isTaken, told } = (await ready[at]?.(random(500))) ?? { isTaken: false, told: '' };
        given.push({ token, by, channel: name, question, isTaken, told });
      }),
    );
    await until(`the answers arrive: ${JSON.stringify(given.slice(-parts.length))}`, async () => {
      for (const desk of thread.isShared ? desks : []) await startUwf(['fetch'], { cwd: desk.dir }).outcome;
      const heads = await Promise.all(chosen.map((question) => headOf(thread.desk, question.thread)));
      return chosen.every(({ head }, at) => heads[at] !== head);
    });
  };

  const playThread = async (name: string, random: Random): Promise<void> => {
    const desk = random(2) === 0 ? laptop : tower;
    const isShared = name === 't0x0' || random(3) === 0;
    const workflow = random(3) === 0 ? 'block' : 'row';
    const on = isShared ? ['--on', 'origin', '--background'] : [];
    const { env } = random(2) === 0 ? ann : bob;
    const { all } = await desk.uwf(['run', workflow, '-p', name, ...on], { env });
    const root = /\b0[0-9A-HJKMNP-TV-Z]{25}\b/.exec(all)?.[0] ?? all;
    const thread: Played = { root, desk, isShared };
    played.push(thread);
    for (;;) {
      let questions: Question[] | undefined;
      let seen: Row[] = [];
      await until(
        () => `thread ${root} is at rest: ${JSON.stringify(seen)}; the worker said: ${worker.said()}`,
        async () => {
          for (const each of isShared ? desks : []) await startUwf(['fetch'], { cwd: each.dir }).outcome;
          seen = [];
          questions = await questionsOf(desk, root, name, isShared, seen);
          return questions !== undefined;
        },
      );
      if (questions === undefined || questions.length === 0) return;
      await answer(thread, questions, random);
    }
  };

  const lanes = Array.from({ length: LANES }, async (_, lane) => {
    const random = createRandom(SEED + lane);
    for (let at = 0; !isDone(); at += 1) await playThread(`t${lane}x${at}`, random);
  });
  await Promise.all(lanes);
  await worker.stop();

  for (const desk of desks) {
    await ok(desk, 'push', '--all');
    await ok(desk, 'fetch');
  }
  await ok(laptop, 'fetch');
  const stored = new Map<string, number>();
  // Not the forks in which a clone keeps an answer that came too late at the remote.
  for (const thread of new Set(given.map(({ question }) => question.thread))) {
    for (const desk of desks) {
      for (const token of await checkThread(desk, thread, given)) stored.set(token, (stored.get(token) ?? 0) + 1);
    }
  }
  // Both clones have each answer once, and none whose giver was told something else.
  const taken = given.filter(({ isTaken }) => isTaken);
  expect(given.filter(({ token, isTaken }) => (stored.get(token) ?? 0) !== (isTaken ? desks.length : 0))).toEqual([]);
  expect(new Set(taken.map(({ question }) => question.suspension)).size).toBe(taken.length);
  expect(taken.length).toBe(asked);
  for (const { dir, uwf } of [...desks, box]) {
    const checked = await uwf(['fsck']);
    expect(checked.code, checked.all).toBe(0);
    expectCleanFsck(dir);
  }
  expectCleanFsck(remote);
  const many = given.reduce((all, { channel }) => all.set(channel, (all.get(channel) ?? 0) + 1), new Map());
  process.stdout.write(
    `${JSON.stringify({ seed: SEED, asked, given: given.length, threads: played.length, many: [...many] })}\n`,
  );
});

async function ok({ uwf }: Desk, ...argv: string[]): Promise<Row> {
  const { code, stdout, all } = await uwf(argv);
  expect(code, `${argv.join(' ')}: ${all}`).toBe(0);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Commands with --json print an object or a list.
  return argv.includes('--json') ? (JSON.parse(stdout) as Row) : {};
}

async function headOf(desk: Desk, thread: string): Promise<unknown> {
  const [view] = await viewsOf(desk, [thread]);
  return view?.['head'];
}

/** What `thread show --json` shows. Its commands leave files open until their process ends, and there are very many of them here. */
async function viewsOf(desk: Desk, threads: readonly string[]): Promise<Row[]> {
  const repository = await desk.open();
  try {
    return await Promise.all(threads.map((thread) => describeThread(readingContext(repository), thread)));
  } finally {
    await repository.close();
  }
}

/** The questions of a thread at rest, none where it is over; `undefined` while it goes on. */
async function questionsOf(
  desk: Desk,
  root: string,
  name: string,
  isShared: boolean,
  seen: Row[],
): Promise<Question[] | undefined> {
  const [view = {}] = await viewsOf(desk, [root]);
  seen.push(view);
  if (view['status'] === 'ended') return [];
  const suspension = view['suspension'] as Row | null;
  if (suspension === null || view['holder'] !== null) return undefined;
  const question = (of: Row): Question => {
    const { suspension: hash, role } = of['suspension'] as { suspension: string; role: Question['role'] };
    const [thread, head] = [String(of['thread']), String(of['head'])];
    return { thread, head, suspension: hash, role, words: `${name} ${role}?` };
  };
  if (suspension['cause'] === 'human') return [question(view)];
  expect(suspension['cause']).toBe('child');
  const children = await viewsOf(desk, view['children'] as string[]);
  seen.push(...children);
  const open = children.filter(({ status }) => status !== 'ended');
  const waiting = open.filter(({ status, holder }) => status === 'suspended' && holder === null);
  // The worker runs the branches of a block with shared files together, when all are answered.
  const others = open.length - waiting.length;
  return waiting.length > 0 && (isShared || others === 0) ? waiting.map(question) : undefined;
}

/** Holds all that is shown of a thread's answers against what was given. @returns the tokens of its answers */
async function checkThread(desk: Desk, thread: string, given: readonly Given[]): Promise<string[]> {
  const rows = async (...argv: string[]): Promise<Row[]> => (await desk.json(argv)) as Row[];
  const log = (await rows('log', thread)).toReversed();
  const said = await rows('thread', 'read', thread);
  const steps = await rows('step', 'list', thread);
  const page = await desk.page.get(`/t/${thread}`);
  const tokens: string[] = [];
  for (const [at, entry] of log.entries()) {
    if (entry['kind'] !== 'suspend' || entry['cause'] !== 'human') continue;
    const [resumed, step] = log.slice(at + 1);
    const answer = given.find(({ token }) => String(resumed?.['text']).includes(token));
    const about = JSON.stringify({ thread, entry, resumed, answer });
    expect([resumed?.['kind'], step?.['kind'], answer?.question.suspension], about).toEqual([
      'resume',
      'step',
      entry['hash'],
    ]);
    if (answer === undefined) continue;
    const { by, token } = answer;
    tokens.push(token);
    const shown = (await desk.json(['step', 'show', String(step?.['hash'])])) as Row;
    const views = [
      ['log', resumed?.['by']],
      ['log of the step', step?.['by']],
      ...said
        .filter((each) => each['resumption'] === resumed?.['hash'] || each['step'] === step?.['hash'])
        .map((each) => ['read', each['by']]),
      ...steps.filter((each) => each['step'] === step?.['hash']).map((each) => ['list', each['by']]),
      ['show', shown['by']],
      ['git', desk.git('log', '-1', '--format=%an <%ae>', String(step?.['head']))],
      ['page', titleAt(page, `id="${String(resumed?.['hash'])}"`)],
      ['page of the step', titleAt(page, `id="step-${String(shown['number'])}"`)],
    ];
    expect(views, about).toHaveLength(9);
    expect(
      views.filter(([, who]) => who !== by),
      about,
    ).toEqual([]);
  }
  return tokens;
}

/** The person that the page names below a mark. */
function titleAt(page: string, mark: string): string | undefined {
  const [, title] = /<span title="([^"]*&lt;[^"]*)">/u.exec(page.slice(page.indexOf(mark))) ?? [];
  return title?.replace('&lt;', '<').replace('&gt;', '>');
}
