import { describe, expect, test } from 'vitest';
import type { Repository } from '../../src/git/repository.ts';
import { appendStep, type StepDraft } from '../../src/thread/append-step.ts';
import { endThread, resumeThread, suspendThread } from '../../src/thread/thread-verbs.ts';
import {
  fileOf,
  type LightCommit,
  readChain,
  readLightChain,
  readLightCommit,
  readReply,
} from '../../src/thread/thread-chain.ts';
import type { ThreadState } from '../../src/thread/thread-state.ts';
import { createMapRepository, type MapRepository } from '../helpers/map-repository.ts';
import { createTemporaryRepository, type TemporaryRepository } from '../helpers/temporary-repository.ts';
import { watched } from '../helpers/watched-repository.ts';
import { forge } from '../verify/forge-commit.ts';
import { agent, startLoop, stepDraft, suspensionDraft } from './thread-fixture.ts';

async function threadOf(
  drafts: readonly Partial<StepDraft>[],
): Promise<{ temporary: TemporaryRepository; repository: Repository; state: ThreadState }> {
  const temporary = createTemporaryRepository();
  const repository = await temporary.open();
  let state = await startLoop(repository);
  for (const draft of drafts) state = await appendStep(repository, state, stepDraft(draft));
  return { temporary, repository, state };
}

async function newest(repository: Repository, head: ThreadState['head']['id'], most: number): Promise<LightCommit[]> {
  const told: LightCommit[] = [];
  for await (const commit of readLightChain(repository, head)) {
    told.push(commit);
    if (told.length === most) break;
  }
  return told;
}

describe('a thread as it is told', () => {
  test('is the thread as it is read', async () => {
    const { repository, state } = await threadOf([{ text: 'One.\n' }, { text: 'Two.' }]);
    const told = await newest(repository, state.head.id, Infinity);
    const read = [];
    for await (const { id, hash, kind, node, commit } of readChain(repository, state.head.id)) {
      read.push({ id, hash, kind, node, commit });
    }
    expect(told.map(({ id, hash, kind, node, commit }) => ({ id, hash, kind, node, commit }))).toEqual(read);
  });

  test.each([
    ['one line', 'Done.'],
    ['a line end', 'Done.\n'],
    ['several paragraphs', '# Done\n\nAll of it.\n\n- a\n- b\n'],
    ['nothing', ''],
    ['blank lines around it', '\n\n  Done.\n\n\n'],
    ['carriage returns', 'a\r\nb\r\n'],
    ['what looks like a trailer', 'Uwf-Node: 0000000000000\n\nUwf-Role: x'],
    ['more than a message carries', `${'long '.repeat(3000)}end`],
  ])('has the reply to the letter: %s', async (_, text) => {
    const { repository, state } = await threadOf([{ text }]);
    const [told] = await newest(repository, state.head.id, 1);
    expect(told?.kind === 'step' && (await readReply(repository, told))).toBe(text);
  });

  test('costs three objects for each step that is looked at, however long the thread', async () => {
    const counts: number[] = [];
    for (const steps of [4, 16]) {
      const { temporary, state } = await threadOf(Array.from({ length: steps }, (_, at) => ({ text: `Reply ${at}.` })));
      const { repository, read } = watched(await temporary.open());
      for (const told of await newest(repository, state.head.id, 3)) {
        if (told.kind === 'step') await readReply(repository, told);
      }
      counts.push(read.length);
    }
    expect(counts).toEqual([9, 9]);
  });

  test('believes no message that names another node', async () => {
    const { temporary, repository, state } = await threadOf([{ text: 'One.' }]);
    const { git } = temporary;
    const [told] = await newest(repository, state.head.id, 1);
    const message = String(told?.commit.message).replace(/^Uwf-Node: .*$/m, `Uwf-Node: ${state.start.hash}`);
    const forged = git('commit-tree', `${state.head.id}^{tree}`, '-p', state.start.id, '-m', message);
    const [read] = await newest(await temporary.open(), forged as typeof state.head.id, 1);
    expect(read).toMatchObject({ kind: 'step', hash: state.head.hash });
  });
});

/** A thread with a commit of each kind, each with this text; newest first. */
async function allKinds(text: string): Promise<{ repository: MapRepository; state: ThreadState; told: LightCommit[] }> {
  const repository = createMapRepository();
  const one = await appendStep(repository, await startLoop(repository, { prompt: text }), stepDraft({ text }));
  const two = await suspendThread(repository, one, suspensionDraft({ text }));
  const three = await resumeThread(repository, two, text);
  const state = await endThread(repository, three, { outcome: 'failed', returnCode: 1, summary: text });
  return { repository, state, told: await newest(repository, state.head.id, Infinity) };
}

const kinds = ['end', 'resume', 'suspend', 'step', 'start'];

describe('a commit as it is told', () => {
  test('has no index if it is a step or start, which cost three objects, and has it otherwise', async () => {
    const { repository, told } = await allKinds('A text.');
    expect(told.map(({ kind }) => kind)).toEqual(kinds);
    for (const commit of told) {
      const isLight = commit.kind === 'step' || commit.kind === 'start';
      expect(['files' in commit, 'index' in commit]).toEqual([isLight, !isLight]);
      const spied = watched(repository);
      await readLightCommit(spied.repository, commit.id);
      const node = fileOf(commit, `${commit.kind}.json`);
      expect(spied.read.filter((id) => id === node)).toHaveLength(1);
      if (isLight) expect(spied.read).toEqual([commit.id, commit.commit.tree, node]);
    }
  });

  test.each(['step', 'start'])('has no index if it is a %s whose message does not name its node', async (kind) => {
    const { repository, told } = await allKinds('A text.');
    const { id, hash } = told.find((commit) => commit.kind === kind)!;
    for (const message of ['no trailers\n', 'other trailers\n\nUwf-Node: x\n']) {
      const read = await readLightCommit(
        repository,
        forge(repository, id, (draft) => (draft.message = message)),
      );
      expect(read).toMatchObject({ kind, hash });
      expect(['files' in read, 'index' in read]).toEqual([true, false]);
    }
  });

  test('is not believed to be of a thread for its message alone', async () => {
    const { repository, state } = await allKinds('A text.');
    const id = forge(repository, state.start.id, ({ files, listed }) => {
      files.delete('start.json');
      listed.delete('start.json');
    });
    await expect(readLightCommit(repository, id)).rejects.toMatchObject({ code: 'corrupt-thread', commit: id });
  });

  test('has the files at the top of its tree', async () => {
    const { told } = await allKinds('A text.');
    const [resume, step] = [told[1]!, told[3]!];
    expect(fileOf(resume, 'answer.md')).toBe(fileOf(step, 'output.md'));
    expect(fileOf(step, 'prompt.md')).not.toBe(fileOf(step, 'output.md'));
    expect(fileOf(resume, 'output.md')).toBeUndefined();
    expect(fileOf(step, 'answer.md')).toBeUndefined();
  });
});

const long = `${'long '.repeat(3000)}end`;

describe('the text of a commit', () => {
  test.each(['A text.', 'A text.\n'])('costs nothing where its message has all of %j', async (text) => {
    const { repository, told } = await allKinds(text);
    const spied = watched(repository);
    for (const commit of told) expect(await readReply(spied.repository, commit), commit.kind).toBe(text);
    expect(spied.read).toEqual([]);
  });

  test('is empty for a turn that was suspended before the agent said anything', async () => {
    const repository = createMapRepository();
    const { head } = await suspendThread(repository, await startLoop(repository), suspensionDraft());
    expect(await readReply(repository, head)).toBe('');
  });

  test.each(kinds)('is read whole if the message has a part of it (%s)', async (kind) => {
    const { repository, told } = await allKinds(long);
    expect(
      await readReply(
        repository,
        told.find((commit) => commit.kind === kind)!,
      ),
    ).toBe(long);
  });

  test('that the repository has lost is an error', async () => {
    const { repository, told } = await allKinds(long);
    repository.objectMap.delete(fileOf(told[1]!, 'answer.md')!);
    await expect(readReply(repository, told[1]!)).rejects.toMatchObject({ code: 'object-missing' });
  });

  test.each<[string, Parameters<typeof forge>[2]]>([
    [
      'output.md is not there',
      ({ files, listed }) => {
        files.delete('output.md');
        listed.delete('output.md');
      },
    ],
    [
      'output.md is no content node',
      ({ node, files, listed }) => {
        node['content'] = listed.get('agent.json')!;
        files.set('output.md', files.get('agent.json')!);
      },
    ],
  ])('is refused where %s', async (fault, change) => {
    const repository = createMapRepository();
    const other = { ...agent, name: 'substitute' };
    const { head } = await appendStep(repository, await startLoop(repository), stepDraft({ text: long, agent: other }));
    const commit = await readLightCommit(repository, forge(repository, head.id, change));
    await expect(readReply(repository, commit)).rejects.toMatchObject({
      code: 'corrupt-thread',
      message: `commit ${commit.id} is not a sound part of a thread: ${fault}`,
    });
  });
});
