import { randomInt } from 'node:crypto';
import { expect, test } from 'vitest';
import { atTerminal } from '../../helpers/at-terminal.ts';
import {
  cliRepositoryOf,
  createCliRepository,
  loopReplies,
  loopWorkflow,
  scriptedConfig,
  type CliRepository,
} from '../../helpers/cli.ts';
import { createTemporaryRepository, type TemporaryRepository } from '../../helpers/temporary-repository.ts';

/** `PUSHES=200 SEED=7` makes it longer, and does the same again. */
const PUSHES = Number(process.env['PUSHES'] ?? 18);
const SEED = Number(process.env['SEED'] ?? randomInt(1_000_000));

const QUESTION = '[y/N]';
const idOf = /\b0[0-9A-HJKMNP-TV-Z]{25}\b/;

const callWorkflow = `
name: call
description: calls another workflow
roles:
  calls: { description: calls, schema: { type: object } }
moderator:
  - { from: __start__, to: calls }
  - { from: calls, to: __end__ }
`;

/** Numbers in a sequence that the seed decides. */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

type Remote = { name: string; server: TemporaryRepository };
/** What the person knows of a thread: its words, the thread that it goes with, and whether uwf made it on its own. */
type Known = { words: string; caller?: string };

class World {
  readonly random: (below: number) => number;
  readonly remotes: Remote[];
  readonly clones: CliRepository[];
  readonly known: Map<string, Known> = new Map();
  /** Forks that fetches made of steps that lost a race. */
  readonly kept: Set<string> = new Set();
  #count = 0;

  constructor(seed: number) {
    this.random = createRandom(seed);
    this.remotes = ['origin', 'mapped'].map((name) => ({ name, server: createTemporaryRepository({ bare: true }) }));
    this.clones = ['ada', 'ben'].map(() => {
      const config = scriptedConfig(loopReplies, {
        agents: {
          script: { package: 'builtin:scripted', config: { replies: loopReplies, repeat: true } },
          calls: { package: 'builtin:workflow', config: { workflow: 'loop' } },
        },
        roles: { 'call.calls': 'calls' },
      });
      const clone = createCliRepository({
        '.uwf/workflows/loop.yaml': loopWorkflow,
        '.uwf/workflows/call.yaml': callWorkflow,
        '.uwf/config.yaml': config,
      });
      for (const { name, server } of this.remotes) clone.git('remote', 'add', name, server.dir);
      clone.git('config', 'remote.mapped.uwfPrefix', 'refs/heads/uwf/');
      return cliRepositoryOf(clone);
    });
  }

  one<T>(all: readonly T[]): T | undefined {
    return all[this.random(all.length)];
  }

  words(): string {
    this.#count += 1;
    return `Task ${this.#count} of some`;
  }

  async start(clone: CliRepository): Promise<void> {
    const words = this.words();
    const told = (await clone.json(['thread', 'start', 'loop', '-p', words])) as { thread: string };
    this.known.set(told.thread, { words });
  }

  /** Something happens to the threads of a clone. */
  async act(clone: CliRepository): Promise<void> {
    const list = (await clone.json(['thread', 'list', '--all'])) as { thread: string; status: string }[];
    const thread = this.one(list)?.thread;
    const open = this.one(list.filter(({ status }) => status === 'idle'))?.thread;
    switch (this.random(10)) {
      case 0:
      case 1:
        await this.start(clone);
        return;
      case 2: {
        const words = this.words();
        const told = await clone.lines(['run', 'call', '-p', words]);
        for (const line of told) await this.#note(clone, line, words);
        return;
      }
      case 3: {
        if (thread === undefined) return;
        const told = (await clone.json(['thread', 'fork', thread])) as { thread: string };
        this.known.set(told.thread, { words: this.known.get(thread)?.words ?? '' });
        return;
      }
      case 4:
      case 5:
      case 6:
        if (open !== undefined) await clone.uwf(['thread', 'step', open]);
        return;
      case 7:
        if (open !== undefined) await clone.uwf(['thread', 'cancel', open]);
        return;
      case 8:
        await clone.uwf(['archive', '--before', '2100-01-01']);
        return;
      default: {
        if (thread === undefined) return;
        const remote = this.one(this.remotes);
        const isThere = this.random(2) === 0 && remote !== undefined && (await idsAt(remote)).has(thread);
        await clone.uwf(['thread', 'rm', thread, '--force', ...(isThere ? ['--remote', remote.name] : [])]);
      }
    }
  }

  async #note(clone: CliRepository, line: Record<string, unknown>, words: string): Promise<void> {
    if (line['event'] !== 'thread.started') return;
    const thread = String(line['thread']);
    const show = (await clone.json(['thread', 'show', thread])) as { prompt: string; parent: string | null };
    this.known.set(thread, { words: show.prompt || words, ...(show.parent && { caller: show.parent }) });
  }

  /** Whether a thread may go without a word: it belongs to one that the remote has. */
  belongs(thread: string, there: ReadonlySet<string>): boolean {
    if (this.kept.has(thread)) return true;
    for (let at = this.known.get(thread)?.caller; at !== undefined; at = this.known.get(at)?.caller)
      if (there.has(at)) return true;
    return false;
  }
}

/** The threads of a remote: those with refs, and those in its archive, each with where it is. */
async function idsAt({ server }: Remote): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const line of server.git('for-each-ref', '--format=%(refname) %(objectname)').split('\n')) {
    const [name = '', commit = ''] = line.split(' ');
    const id = idOf.exec(name)?.[0];
    if (/(?:threads|history)\//.test(name) && !name.includes('claims') && id !== undefined) found.set(id, commit);
    if (!name.endsWith('archive/list')) continue;
    for (const entry of server.git('grep', '-h', '-E', '-e', '^0[0-9A-Z]{25} ', commit).split('\n')) {
      const archived = idOf.exec(entry)?.[0];
      if (archived !== undefined && !found.has(archived)) found.set(archived, 'archived');
    }
  }
  return found;
}

/** The ids in lines of a report of one kind. */
function idsIn(text: string, kind: RegExp): Set<string> {
  return new Set(text.split('\n').flatMap((line) => (kind.test(line) ? (idOf.exec(line)?.[0] ?? []) : [])));
}

test(`of ${PUSHES} pushes and syncs none sends a new thread unasked, and each says what it sent (seed ${SEED})`, async () => {
  const world = new World(SEED);
  const seen = { sent: 0, asked: 0, unsent: 0, belonging: 0 };
  for (let push = 0; push < PUSHES; push += 1) {
    const clone = world.clones[world.random(2)]!;
    const remote = world.remotes[world.random(3) === 0 ? 1 : 0]!;
    for (let acts = 1 + world.random(4); acts > 0; acts -= 1) await world.act(clone);
    if (push < 2) await world.start(clone);
    const before = await idsAt(remote);
    const verb = world.random(3) === 0 ? 'sync' : 'push';
    // However few pushes there are, one has something to leave here, and one to send.
    const fixed = push === 0 ? 'bare' : push === 1 ? 'all' : undefined;
    const how = fixed ?? ['bare', 'bare', 'bare', 'no', 'yes', 'all', 'named', 'dry', 'json'][world.random(9)]!;
    const list = (await clone.json(['thread', 'list', '--all'])) as { thread: string }[];
    const named = how === 'named' ? [world.one(list)?.thread].flatMap((id) => id ?? []) : [];
    const words = [verb, remote.name, ...named];
    if (how === 'all') words.push('--all');
    if (how === 'dry' && verb === 'push') words.push('-n');
    if (how === 'json') words.push('--json');
    const at = `push ${push}: ${words.join(' ')} (${how})`;
    let text: string;
    if (how === 'no' || how === 'yes') {
      const { shown } = await atTerminal(clone.dir, words, {
        question: QUESTION,
        keys: how === 'yes' ? 'yyyy' : 'nnnn',
      });
      text = shown;
    } else text = (await clone.uwf(words)).stdout;

    const after = await idsAt(remote);
    const fresh = [...after.keys()].filter((id) => !before.has(id));
    const lines = text.slice(verb === 'sync' ? Math.max(0, text.search(/^pushed to/m)) : 0);
    const listed = idsIn(text, /^ {2}0/);
    if (how === 'json') {
      const report = JSON.parse(text) as { pushed?: Report; fetched?: Report } & Report;
      const pushed = report.pushed ?? report;
      for (const { thread, change } of report.fetched?.threads ?? []) if (change === 'forked') world.kept.add(thread);
      const told = new Set(pushed.threads.map(({ thread }) => thread));
      expect(
        fresh.filter((id) => !told.has(id)),
        at,
      ).toEqual([]);
      for (const { thread, change, prompt } of pushed.threads)
        if (change === 'new' && world.known.has(thread)) expect(prompt, at).toBe(world.known.get(thread)?.words);
    } else {
      for (const id of idsIn(text, /^ \* \[new fork\]/)) world.kept.add(id);
      const told = idsIn(lines, /^ \* \[new|^ {3}\w{7}\.\.|^ - /);
      if (how === 'dry' && verb === 'push') expect([...after], at).toEqual([...before]);
      else {
        expect(
          fresh.filter((id) => !told.has(id)),
          at,
        ).toEqual([]);
        const sent = idsIn(lines, /^ \* \[new thread/);
        if (verb === 'push')
          expect(
            [...sent].filter((id) => !fresh.includes(id)),
            at,
          ).toEqual([]);
      }
      for (const line of text.split('\n')) {
        const id = /^ \* \[new thread|^ \? \[not sent|^ {2}0/.test(line) ? idOf.exec(line)?.[0] : undefined;
        const about = id === undefined ? undefined : world.known.get(id);
        if (about !== undefined) expect(line, at).toContain(about.words);
      }
    }
    // What is new there was chosen, or belongs to what was there or was chosen.
    const chosen = new Set([...before.keys(), ...named, ...(how === 'yes' ? listed : [])]);
    const unasked = how === 'all' ? [] : fresh.filter((id) => !chosen.has(id) && !world.belongs(id, chosen));
    expect(unasked, `${at}\n${text}`).toEqual([]);
    seen.sent += fresh.length;
    seen.belonging += how === 'bare' || how === 'json' || how === 'no' ? fresh.length : 0;
    seen.asked += listed.size;
    seen.unsent += idsIn(text, /^ \? \[not sent/).size;
  }
  process.stderr.write(`${JSON.stringify({ seed: SEED, ...seen })}\n`);
  expect(seen.sent).toBeGreaterThan(0);
  expect(seen.unsent + seen.asked).toBeGreaterThan(0);
});

type Report = { threads: { thread: string; change: string; prompt?: string }[] };
