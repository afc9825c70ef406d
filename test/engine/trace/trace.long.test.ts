import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { AgentEvent } from '../../../src/agent/contract.ts';
import { repositoryNodes } from '../../../src/cas/lookup.ts';
import { parseNodeHash } from '../../../src/cas/hash.ts';
import { getNode } from '../../../src/cas/node.ts';
import { validate } from '../../../src/schema/validate.ts';
import { walk } from '../../../src/schema/links.ts';
import { readTrace } from '../../../src/thread/step-trace.ts';
import { readThreadCommit } from '../../../src/thread/thread-commit.ts';
import type { CommitOf } from '../../../src/thread/thread-state.ts';
import { installReportingAgent, reportingConfig, type Act } from '../../helpers/reporting-agent.ts';
import { expectCleanFsck } from '../../helpers/temporary-repository.ts';
import { createFixture, reply, statuses, workflow, type EngineFixture } from '../engine-fixture.ts';
import { rulesOf } from '../../helpers/plot.ts';

const definition = workflow('w', { a: statuses('done') }, 'a > end');

const emit = (event: AgentEvent): Act => ({ emit: event });

const session: Act[] = [
  emit({ kind: 'turn-start', input: 'Do it.' }),
  emit({ kind: 'thought', text: 'I have to look.' }),
  emit({ kind: 'tool-call', id: '1', name: 'Read File', arguments: { path: 'a.txt' } }),
  emit({ kind: 'tool-result', id: '1', result: 'the file\n', durationMs: 3 }),
  emit({ kind: 'tool-call', id: '2', name: 'write', arguments: { path: '/etc/x' } }),
  emit({ kind: 'refusal', text: '/etc/x is outside the folder' }),
  emit({ kind: 'tool-result', id: '2', result: 'not allowed', durationMs: 1, isError: true }),
  emit({ kind: 'turn-end', usage: { inputTokens: 100, outputTokens: 20, turns: 1, costUsd: 0.01 } }),
  emit({ kind: 'turn-start', input: 'the file\n' }),
  emit({ kind: 'text', text: 'It is done.' }),
  emit({ kind: 'turn-end', usage: { inputTokens: 130, outputTokens: 5, turns: 1, costUsd: 0.02 } }),
  { reply: { kind: 'reply', text: reply('done') } },
];

async function runOne(acts: Act[][]): Promise<EngineFixture & { head: string; commit: CommitOf<'step'> }> {
  const fixture = await createFixture(reportingConfig({ a: acts }));
  installReportingAgent(fixture.dir);
  const { thread } = await fixture.engine.start({ definition, prompt: 'x' });
  const { head } = await fixture.engine.run(thread);
  const commit = await readThreadCommit(fixture.repository, fixture.git('rev-parse', `${head}^`) as never);
  if (commit.kind !== 'step') throw new Error(`a ${commit.kind} came of it`);
  return { ...fixture, head, commit };
}

function objectFiles(dir: string): string[] {
  const objects = join(dir, '.git', 'objects');
  return readdirSync(objects, { recursive: true, encoding: 'utf8' }).filter((path) =>
    statSync(join(objects, path)).isFile(),
  );
}

describe('a step', () => {
  test('links to its session, turns, calls and results, and all of it is where it says', async () => {
    const { repository, commit, git, dir } = await runOne([session]);
    const nodes = repositoryNodes(repository);
    const payload = async (hash: unknown): Promise<Record<string, unknown>> =>
      // Every node of a trace is an object.
      (await getNode(nodes, parseNodeHash(String(hash)))).payload as Record<string, unknown>;
    const react = await payload((await payload(commit.hash))['react']);
    expect(react).toMatchObject({ role: 'a', totalTokens: 255 });
    const [turnHash] = react['turns'] as string[];
    const turn = await payload(turnHash);
    expect(turn).toMatchObject({ tokens: { input: 100, output: 20 }, costUsd: 0.01 });
    const [callHash] = turn['toolCalls'] as string[];
    const call = await payload(callHash);
    expect(call).toMatchObject({ name: 'Read File', durationMs: 3 });
    expect(await payload(call['result'])).toEqual({ text: 'the file\n' });
    expect(await payload(call['arguments'])).toEqual({ text: '{\n  "path": "a.txt"\n}' });

    const types: (string | undefined)[] = [];
    for await (const node of walk(repository, commit.hash)) {
      types.push(node.typeName);
      if (node.typeName?.startsWith('react-')) {
        expect(await validate(repository, node.hash)).toEqual({ valid: true, errors: [] });
      }
    }
    expect(types.filter((type) => type === 'react-tool-call')).toHaveLength(2);
    expect(types).toContain('react-session');

    expect(git('ls-tree', '-r', '--name-only', commit.id, 'trace').split('\n')).toEqual([
      'trace/001/calls/1-%52ead%20%46ile.arguments.md',
      'trace/001/calls/1-%52ead%20%46ile.json',
      'trace/001/calls/1-%52ead%20%46ile.result.md',
      'trace/001/calls/2-write.arguments.md',
      'trace/001/calls/2-write.error.md',
      'trace/001/calls/2-write.json',
      'trace/001/input.md',
      'trace/001/output.md',
      'trace/001/parts/1-thought.md',
      'trace/001/parts/2-refusal.md',
      'trace/001/turn.json',
      'trace/002/input.md',
      'trace/002/output.md',
      'trace/002/turn.json',
      'trace/session.json',
    ]);
    expectCleanFsck(dir);
  });

  test('gives its trace back as it was recorded, and its usage where the reply says nothing of it', async () => {
    const { repository, commit } = await runOne([session]);
    const trace = await readTrace(repository, commit);
    expect(trace?.turns).toMatchObject([
      {
        number: 1,
        input: 'Do it.',
        parts: [
          { kind: 'thought', text: 'I have to look.' },
          { kind: 'refusal', text: '/etc/x is outside the folder' },
        ],
        toolCalls: [
          { name: 'Read File', result: 'the file\n', isError: false },
          { name: 'write', result: 'not allowed', isError: true },
        ],
      },
      { number: 2, output: 'It is done.', parts: [], toolCalls: [] },
    ]);
    expect(commit.node.usage).toEqual({ inputTokens: 230, outputTokens: 25, turns: 2, costUsd: 0.03 });
  });

  test('has none where the agent only spoke', async () => {
    const { repository, commit, git } = await runOne([
      [emit({ kind: 'text', text: 'Hm.' }), { reply: { kind: 'reply', text: reply('done') } }],
    ]);
    expect(commit.node.react).toBeNull();
    expect(await readTrace(repository, commit)).toBeUndefined();
    expect(git('ls-tree', '--name-only', commit.id, 'trace')).toBe('');
  });

  test('with a trace of 2,000 calls costs three new files at most, and its last 20 turns are read by themselves', async () => {
    const fixture = await createFixture(
      reportingConfig({
        a: [
          [
            ...Array.from({ length: 2000 }, (_, place): Act[] => [
              emit({ kind: 'tool-call', id: `${place}`, name: 'run', arguments: { line: place } }),
              emit({
                kind: 'tool-result',
                id: `${place}`,
                result: `result ${place} ${'.'.repeat(2000)}`,
                durationMs: 1,
              }),
            ]).flat(),
            { reply: { kind: 'reply', text: reply('done') } },
          ],
        ],
      }),
    );
    const { engine, repository, dir, git } = fixture;
    installReportingAgent(dir);
    // It goes on after the step, so that the step's files are all there is.
    const open = {
      ...definition,
      moderator: rulesOf('a > a'),
    };
    const { thread } = await engine.start({ definition: open, prompt: 'x' });
    const before = objectFiles(dir);
    const { head } = await engine.step(thread);
    const added = objectFiles(dir).filter((path) => !before.includes(path));
    expect(added.length).toBeLessThanOrEqual(3);

    const fresh = await fixture.open();
    let reads = 0;
    const counting = {
      ...fresh,
      objects: {
        format: fresh.objects.format,
        read: (...args: Parameters<typeof fresh.objects.read>) => {
          reads += 1;
          return fresh.objects.read(...args);
        },
        has: (id: never) => fresh.objects.has(id),
        write: (objects: never) => fresh.objects.write(objects),
        close: () => fresh.objects.close(),
      },
    };
    const commit = await readThreadCommit(counting, head);
    if (commit.kind !== 'step') throw new Error('no step came of it');
    const trace = await readTrace(counting, commit, { limit: 20 });
    expect(trace?.session.turns).toHaveLength(2000);
    expect(trace?.turns.map(({ number }) => number)).toEqual(Array.from({ length: 20 }, (_, place) => 1981 + place));
    // The commit, tree, index, step, session; and of each turn itself, its two texts, a call and that one's two.
    expect(reads).toBe(5 + 20 * 6);

    const rest = await readTrace(repository, commit, { limit: 2, before: trace?.turns[0]?.hash });
    expect(rest?.turns.map(({ number }) => number)).toEqual([1979, 1980]);
    await expect(readTrace(repository, commit, { before: '2001' })).rejects.toMatchObject({ code: 'unknown-turn' });
    git('fsck', '--strict');
  }, 60_000);
});

describe('a turn that ended in a suspension', () => {
  test('keeps its trace, its tokens and what was said', async () => {
    const fixture = await createFixture(
      reportingConfig({
        a: [[...session.slice(0, -3), emit({ kind: 'text', text: 'Half of i' }), { waitFor: '/nowhere' }]],
      }),
    );
    const { engine, repository, dir } = fixture;
    installReportingAgent(dir);
    const { thread } = await engine.start({ definition, prompt: 'x', limits: { timeoutMs: 3_000 } });
    const over = await engine.run(thread);
    expect(over.event).toBe('thread.suspended');
    const commit = await readThreadCommit(repository, over.head);
    if (commit.kind !== 'suspend') throw new Error('it is not suspended');
    expect(commit.node).toMatchObject({ cause: 'timeout', usage: { inputTokens: 100, outputTokens: 20 } });
    const trace = await readTrace(repository, commit);
    expect(trace?.turns.at(-1)?.output).toBe('Half of i');
    for await (const node of walk(repository, commit.hash)) expect(node.hash).toBeTruthy();
    // Paid for, though there is no step.
    expect(await engine.describe(thread)).toMatchObject({
      steps: 0,
      usage: { inputTokens: 100, outputTokens: 20, turns: 1, costUsd: 0.01 },
      usageByRole: { a: { inputTokens: 100 } },
    });
    expectCleanFsck(dir);
  });
});
