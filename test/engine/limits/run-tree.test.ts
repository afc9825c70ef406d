import fc from 'fast-check';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import type { Config } from '../../../src/engine/config/config.ts';
import { createEngine, type Engine } from '../../../src/engine/engine.ts';
import { formatRunTree, readRunTree, RUN_TREE, type RunTree } from '../../../src/engine/limits/run-tree.ts';
import { collectGarbage } from '../../../src/engine/maintenance/collect-garbage.ts';
import { readingContext } from '../../../src/engine/engine-context.ts';
import { formatIdentity, ownIdentity } from '../../../src/git/system/process-identity.ts';
import { parseThreadId } from '../../../src/thread/thread-id.ts';
import type { WorkflowDefinition } from '../../../src/workflow/definition.ts';
import { withBlock } from '../blocks/block-fixture.ts';
import { createFixture, scripted, statuses, workflow, type EngineFixture } from '../engine-fixture.ts';

const root = parseThreadId('01JX0000000000000000000000');
const above: RunTree = { depth: 0, maxDepth: 8, root, process: ownIdentity() };
/** No process of this boot has started at that time. */
const ended = { ...ownIdentity(), startTime: '1' };

const one = workflow('one', { worker: statuses('done') }, 'worker > end');
const outer = workflow('outer', { caller: statuses('done') }, 'caller > end');

/** An agent that tells its own place in the tree. */
const telling = (status: string): string[] => [
  'sh',
  '-c',
  `printf -- '---\n$status: ${status}\n---\n%s' "$${RUN_TREE}"`,
];

function config(limits: Config['limits'] = {}): Config {
  return {
    agents: {
      telling: { name: 'telling', package: 'builtin:command', config: { argv: telling('done'), answers: true } },
      calling: { name: 'calling', package: 'builtin:workflow', config: { workflow: 'one' } },
    },
    defaultAgent: 'telling',
    roles: { 'outer.caller': 'calling' },
    limits,
  };
}

type Nested = EngineFixture & { below(place: Partial<RunTree>, limits?: Config['limits']): Engine };

/** A repository, and engines in it that an agent with a place in a tree has started. */
async function createNested(): Promise<Nested> {
  const resolveWorkflow = (): Promise<WorkflowDefinition> => Promise.resolve(one);
  const fixture = await createFixture(config(), { resolveWorkflow });
  const { repository } = fixture;
  return {
    ...fixture,
    below(place, limits) {
      const env = { PATH: process.env['PATH'], [RUN_TREE]: formatRunTree({ ...above, ...place }) };
      return createEngine({ repository, config: config(limits), env, resolveWorkflow });
    },
  };
}

/** Runs a thread to its end, and reads the place that its agent told. */
async function placeTold(engine: Engine, definition: WorkflowDefinition): Promise<RunTree & { thread: string }> {
  const { thread } = await engine.start({ definition, prompt: 'x' });
  const { text } = await engine.run(thread);
  return { ...readRunTree({ [RUN_TREE]: text.trim() })!, thread };
}

test('a place is read as it was written', () => {
  const places = fc.record({
    depth: fc.nat(),
    maxDepth: fc.nat(),
    root: fc.constant(root),
    process: fc.constant(ended),
  });
  fc.assert(
    fc.property(places, (place) => {
      expect(readRunTree({ [RUN_TREE]: formatRunTree(place) })).toEqual(place);
    }),
  );
});

test('any other value is refused, and none is no place', () => {
  const sound = formatRunTree(above);
  const values = fc.oneof(fc.string({ minLength: 1 }), fc.constantFrom(`${sound} `, `-1${sound}`, `x:${sound}`));
  const unreadable = expect.objectContaining({ code: 'run-tree-unreadable', hint: expect.stringContaining(RUN_TREE) });
  fc.assert(
    fc.property(values, (value) => {
      expect(() => readRunTree({ [RUN_TREE]: value })).toThrow(unreadable);
    }),
  );
  expect([readRunTree({}), readRunTree({ [RUN_TREE]: '' })]).toEqual([undefined, undefined]);
});

test('agents are told where they are: in a thread of a person, in its child, and below both', async () => {
  const { engine, below } = await createNested();
  const first = await placeTold(engine, one);
  expect(first).toMatchObject({ depth: 0, maxDepth: 8, root: first.thread, process: ownIdentity() });
  const child = await placeTold(engine, outer);
  expect(child).toMatchObject({ depth: 1, root: child.thread });
  const nested = await placeTold(below({ depth: 3 }), outer);
  expect(nested).toMatchObject({ depth: 5, root, process: above.process });
  expect(await engine.describe(nested.thread)).toMatchObject({ depth: 4, parent: null });
  const { children } = await engine.describe(nested.thread);
  expect(await engine.describe(children[0]!)).toMatchObject({ depth: 5 });
});

test('an agent of a branch is told where it is, and a block whose branches lie too deep waits at the limit', async () => {
  const definition = await withBlock({ branches: { a: { role: 'checker' } }, join: 'all' });
  const told: string[] = [];
  const script = scripted({ planner: ['---\n---\n'], closer: ['---\n---\n'] });
  const reader = { name: 'reader', package: 'builtin:command', config: { argv: telling('good') } };
  const fixture = await createFixture(
    { ...script, agents: { ...script.agents, reader }, roles: { checker: 'reader' } },
    { onEvent: (event) => void (event.event === 'agent.text' && told.push(event.text)) },
  );
  const { thread } = await fixture.engine.start({ definition, prompt: 'x' });
  await fixture.engine.run(thread);
  expect(readRunTree({ [RUN_TREE]: /\d+:\d+:\S+/u.exec(told.join(''))?.[0] })).toMatchObject({
    depth: 1,
    root: thread,
  });

  const flat = await fixture.engine.start({ definition, prompt: 'x', limits: { maxDepth: 0 } });
  expect(await fixture.engine.run(flat.thread)).toMatchObject({ event: 'thread.suspended', cause: 'limit' });
});

test('nothing is stored or run too deep, by commands and children together', async () => {
  const { engine, below, git } = await createNested();
  const tooDeep = { code: 'depth-exceeded', message: expect.stringContaining('3 levels') };
  await expect(below({ depth: 3, maxDepth: 3 }).start({ definition: one, prompt: 'x' })).rejects.toMatchObject(tooDeep);
  await expect(below({ depth: 3 }, { maxDepth: 3 }).start({ definition: one, prompt: 'x' })).rejects.toMatchObject(
    tooDeep,
  );
  expect(git('for-each-ref')).toBe('');

  const { thread } = await engine.start({ definition: one, prompt: 'x' });
  await expect(below({ depth: 3, maxDepth: 3 }).run(thread)).rejects.toMatchObject(tooDeep);
  expect(await engine.describe(thread)).toMatchObject({ status: 'idle', steps: 0 });
  await engine.run(thread);
  await expect(below({ depth: 3, maxDepth: 3 }).ask(thread, 'Why?')).rejects.toMatchObject(tooDeep);

  const nested = await below({ depth: 2, maxDepth: 3 }).start({ definition: outer, prompt: 'x' });
  // Also when no agent runs it, the limit of the turn above is its own.
  expect(await engine.run(nested.thread)).toMatchObject({
    event: 'thread.suspended',
    cause: 'limit',
    text: expect.stringContaining('3 levels'),
  });
});

test('commands of agents run so many threads below a root, each counted once, however many at once', async () => {
  const { engine, below, repository } = await createNested();
  const limits = { maxNestedRuns: 4 };
  const start = (): Promise<unknown> => below({}, limits).start({ definition: one, prompt: 'x' });
  const { thread } = await below({}, limits).start({ definition: outer, prompt: 'x' });
  // Its child is part of its run.
  expect(await below({ depth: 1 }, limits).run(thread)).toMatchObject({ event: 'thread.ended' });
  const outcomes = await Promise.allSettled(Array.from({ length: 9 }, start));
  expect(outcomes.filter(({ status }) => status === 'fulfilled').length).toBeLessThanOrEqual(3);
  while ((await engine.list()).length < 3) await start();
  await expect(start()).rejects.toMatchObject({
    code: 'too-many-runs',
    message: expect.stringContaining(`4 runs below thread ${root}`),
    hint: expect.stringContaining('maxNestedRuns'),
  });
  const [known] = await engine.list();
  expect(await below({}, limits).run(known!.thread)).toMatchObject({ event: 'thread.ended' });
  const other = parseThreadId('01JX0000000000000000000001');
  await below({ root: other }, limits).start({ definition: one, prompt: 'x' });
  const counts = readdirSync(join(repository.stateDir!, 'trees')).map((name) => name.slice(0, 26));
  expect(counts.toSorted()).toEqual([root, other]);
});

test('what was counted is forgotten with its root', async () => {
  const { engine, below, repository } = await createNested();
  const trees = join(repository.stateDir!, 'trees');
  const { thread } = await engine.start({ definition: one, prompt: 'x' });
  await below({ root: parseThreadId(thread) }).start({ definition: one, prompt: 'x' });
  await engine.run(thread);
  expect(readdirSync(trees)).toEqual([]);

  // A root that was killed.
  const left = join(trees, `${root}@${formatIdentity(ended)}`);
  mkdirSync(left);
  await collectGarbage(readingContext(repository));
  expect(existsSync(left)).toBe(false);
  mkdirSync(left);
  await below({}).start({ definition: one, prompt: 'x' });
  expect(existsSync(left)).toBe(false);
});

test('a root that runs no more has nothing below it', async () => {
  const { engine, below, git } = await createNested();
  const gone = { code: 'root-ended', message: expect.stringContaining(root), hint: expect.stringContaining(RUN_TREE) };
  await expect(below({ process: ended }).start({ definition: one, prompt: 'x' })).rejects.toMatchObject(gone);
  expect(git('for-each-ref')).toBe('');
  const { thread } = await engine.start({ definition: one, prompt: 'x' });
  await expect(below({ process: ended }).run(thread)).rejects.toMatchObject(gone);
  expect(await below({ process: ended }).describe(thread)).toMatchObject({ status: 'idle' });
});
