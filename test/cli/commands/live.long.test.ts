import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { AgentEvent } from '../../../src/agent/contract.ts';
import { chain, createScene, until, type RunningUwf, type Scene } from '../../faults/scene.ts';
import { installReportingAgent, reportingConfig, type Act } from '../../helpers/reporting-agent.ts';

const emit = (event: AgentEvent): Act => ({ emit: event });
const done: Act = { reply: { kind: 'reply', text: '---\n$status: done\n---\nAll is done.\n' } };

/** A repository with a workflow of two roles, whose agent does what is said. */
function createLiveScene(acts: Record<string, Act[][]>): Scene {
  const scene = createScene({ '.uwf/workflows/pair.yaml': chain('pair', ['one', 'two']) });
  installReportingAgent(scene.dir);
  const { agents, defaultAgent } = reportingConfig(acts);
  const { package: name, config } = agents['reporter'] ?? {};
  scene.write('.uwf/config.yaml', JSON.stringify({ agents: { reporter: { package: name, config } }, defaultAgent }));
  return scene;
}

/** Starts the work on a thread in a process of its own and waits until it has begun. */
async function startWork(scene: Scene, thread: string): Promise<RunningUwf> {
  const run = scene.start(['thread', 'run', thread]);
  const journal = join(scene.gitDir, 'uwf', 'journal', `${thread}.jsonl`);
  await until('the work has begun', () => readFileSync(journal, 'utf8').includes('step.started'));
  return run;
}

/** What a running command has printed so far. */
function listen({ process: child }: RunningUwf): { text: () => string } {
  let heard = '';
  child.stdout?.on('data', (data: Buffer) => {
    heard += data.toString();
  });
  return { text: () => heard };
}

const call: Act[] = [
  emit({ kind: 'tool-call', id: '1', name: 'read_file', arguments: { path: 'a.txt' } }),
  emit({ kind: 'tool-result', id: '1', result: 'no such file', durationMs: 2, isError: true }),
];

describe('thread read --follow', () => {
  test('shows what an agent says and calls in another process while it does, and ends with the work', async () => {
    const scene = createLiveScene({
      one: [
        [
          emit({ kind: 'text', text: 'Hello, ' }),
          { waitFor: 'GO' },
          ...call,
          emit({ kind: 'text', text: 'I see.' }),
          done,
        ],
      ],
      two: [[done]],
    });
    const go = join(scene.dir, 'go');
    const config = { dir: scene.dir, path: '.uwf/config.yaml' };
    scene.write(config.path, scene.lines(config.path).join('\n').replace('GO', go));
    const thread = await scene.startThread('pair');
    const run = await startWork(scene, thread);
    const follower = scene.start(['thread', 'read', thread, '--follow']);
    const heard = listen(follower);
    await until('the first words are shown', () => heard.text().includes('Hello, '));
    expect(heard.text()).toMatch(/^# The task\n[^\n]*\n\ndo it\n\n# 1\. one\n/);
    expect(heard.text()).not.toContain('read_file');
    writeFileSync(go, '');
    expect((await run.outcome).code).toBe(0);
    expect(await follower.outcome).toMatchObject({ code: 0 });
    expect(heard.text()).toMatch(
      /Hello, \n\n\[read_file\] \{"path":"a.txt"\}\n\n\[read_file\] failed: no such file\n\nI see\.\n\n\(done, .* s, [0-9A-Z]{13}\)\n\n# 2\. two\n[^\n]*\n\nAll is done\.\n\n\(done, .*\)\n\nthread ended: All is done\.\n\n$/s,
    );
  });

  test('shows what an agent had said whose engine was killed, and goes on with its next try only', async () => {
    const scene = createLiveScene({
      one: [[emit({ kind: 'text', text: 'These are my last w' }), ...call, { kill: true }]],
    });
    const thread = await scene.startThread('pair');
    expect((await scene.uwf(['thread', 'run', thread])).signal).toBe('SIGKILL');
    expect((await scene.uwf(['thread', 'read', thread])).stderr).toContain('the last turn was cut off');
    const { stdout, code } = await scene.uwf(['thread', 'read', thread, '--follow']);
    expect(code).toBe(0);
    expect(stdout).toContain('# 1. one\n');
    expect(stdout).toContain('These are my last w\n\n[read_file] {"path":"a.txt"}');
    const { stdout: detailed } = await scene.uwf(['step', 'turns', '--thread', thread, '--live']);
    expect(detailed).toContain('[read_file] failed (0.0 s)\n```\nno such file\n```');
    expect(await scene.uwf(['step', 'turns', '--thread', thread])).toMatchObject({ code: 2 });
    expect(readdirSync(join(scene.gitDir, 'uwf', 'journal'))).toEqual([`${thread}.jsonl`]);
  });
});

test('thread read --debug prints what the engine decided, took and timed', async () => {
  const scene = createLiveScene({ one: [[done]], two: [[done]] });
  const thread = await scene.startThread('pair');
  await scene.uwf(['thread', 'run', thread]);
  const { stdout } = await scene.uwf(['thread', 'read', thread, '--debug']);
  const lines = stdout.trimEnd().split('\n');
  for (const line of lines) expect(line).toMatch(/^\d\d:\d\d:\d\d\.\d{3} \S+/);
  const about = lines.map((line) => line.slice(13).split(/ \w+: /)[0]);
  expect(about).toEqual([
    'thread.started',
    'lease taken',
    ...['one', 'two'].flatMap(() => ['decision', 'step.started', 'try', 'step stored', 'step.finished']),
    'thread.ended',
    'lease released',
  ]);
  expect(lines.find((line) => line.includes('decision'))).toMatch(/decision role: one, rule: 0, ms: [\d.]+$/);
  const { json } = await scene.uwf(['thread', 'read', thread, '--debug', '--json']);
  expect(json).toHaveLength(lines.length);
});

test('thread read --follow shows what a turn that is suspended said, though its agent said nothing while it worked', async () => {
  const asks: Act = { reply: { kind: 'suspend', cause: 'agent', reason: 'Which?', text: 'I see two ways.' } };
  const scene = createLiveScene({ one: [[{ waitFor: 'GO' }, asks]] });
  const go = join(scene.dir, 'go');
  const path = '.uwf/config.yaml';
  scene.write(path, scene.lines(path).join('\n').replace('GO', go));
  const thread = await scene.startThread('pair');
  const run = await startWork(scene, thread);
  const follower = scene.start(['thread', 'read', thread, '--follow']);
  const heard = listen(follower);
  await until('the turn is shown', () => heard.text().includes('# 1. one'));
  writeFileSync(go, '');
  expect((await run.outcome).code).toBe(4);
  await follower.outcome;
  expect(heard.text()).toMatch(/# 1\. one\n[^\n]*\n\nI see two ways\.\n\nthread suspended: Which\?/);
});

describe('thread list --follow', () => {
  test('streams the threads of a list, and each again when it changes', async () => {
    const scene = createLiveScene({ one: [[{ waitMs: 400 }, done]], two: [[done]] });
    const first = await scene.startThread('pair');
    const follower = scene.start(['thread', 'list', '--follow', '--json']);
    const heard = listen(follower);
    const seen = (): string[] =>
      heard
        .text()
        .split('\n')
        .slice(0, -1)
        .map((line) => {
          const { thread, status, steps } = JSON.parse(line) as { thread: string; status: string; steps?: number };
          return `${thread === first ? 'first' : 'second'} ${status} ${steps ?? ''}`.trim();
        });
    await until('the list is there', () => seen().length > 0);
    await scene.uwf(['thread', 'run', first]);
    await until('the end is told', () => seen().includes('first ended 2'));
    expect(seen()[0]).toBe('first idle 0');
    expect(seen()).toContain('first running 0');
    const second = await scene.startThread('pair');
    await until('the new one is told', () => seen().includes('second idle 0'));
    await scene.uwf(['thread', 'rm', second, '--force']);
    await scene.uwf(['thread', 'rm', second]);
    await until('it is told that it is gone', () => seen().includes('second removed'));
    follower.process.kill('SIGINT');
    expect((await follower.outcome).code).toBe(130);
  });
});

describe('step turns', () => {
  const session: Act[] = [
    emit({ kind: 'turn-start', input: 'Look at a.txt' }),
    emit({ kind: 'thought', text: 'Where is it?' }),
    ...call,
    emit({ kind: 'turn-end', usage: { inputTokens: 1200, outputTokens: 30, turns: 1, costUsd: 0.005 } }),
    emit({ kind: 'turn-start', input: 'no such file' }),
    emit({ kind: 'text', text: 'It is not there.' }),
    emit({ kind: 'turn-end', usage: { inputTokens: 1300, outputTokens: 10, turns: 1, costUsd: 0.005 } }),
    done,
  ];

  test('shows turns as Markdown, with their sums, and says what came before', async () => {
    const scene = createLiveScene({ one: [session], two: [[done]] });
    const thread = await scene.startThread('pair');
    await scene.uwf(['thread', 'run', thread]);
    const whole = await scene.uwf(['step', 'turns', '1', '--thread', thread]);
    expect(whole.stdout).toMatch(/^# Step 1: one\n.* 2,500 tokens in, 40 out, 2 turns, \$0\.0100 {2}[0-9A-Z]{13}\n/);
    expect(whole.stdout).toContain('### thought\n\nWhere is it?\n\n### called read_file (0.0 s)\n');
    expect(whole.stdout).toContain('failed:\n\n```\nno such file\n```\n');
    const last = await scene.uwf(['step', 'turns', '1', '--thread', thread, '-n', '1']);
    expect(last.stdout).toContain('## Turn 2 of 2\n');
    expect(last.stdout).not.toContain('## Turn 1');
    expect(last.stderr).toContain('--before 2');
    const before = await scene.uwf(['step', 'turns', '1', '-t', thread, '--before', '2', '--json']);
    expect(before.json).toMatchObject([
      {
        thread,
        role: 'one',
        totalTokens: 2540,
        count: 2,
        usage: { inputTokens: 2500, costUsd: 0.01 },
        turns: [{ number: 1, toolCalls: [{ name: 'read_file', isError: true }], tokens: { input: 1200 } }],
      },
    ]);
    const silent = await scene.uwf(['step', 'turns', '--thread', thread]);
    expect(silent).toMatchObject({ code: 0, stdout: '', stderr: expect.stringContaining('the agent left no trace') });
    const shown = await scene.uwf(['thread', 'show', thread]);
    expect(shown.stdout).toMatch(/^used +2,500 tokens in, 40 out, 2 turns, \$0\.0100$/m);
  });
});
