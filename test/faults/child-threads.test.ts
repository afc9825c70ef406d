import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createTemporaryRepository, expectCleanFsck } from '../helpers/temporary-repository.ts';
import { chain, config, createScene, role, unfinishedBelow, until, workflow } from './scene.ts';
import type { Scene } from './scene.ts';
import { rulesOf } from '../helpers/plot.ts';

/** A program that writes itself down in `turns`, puts a note, and works until the file `go` or one of its role's is there. */
const noting = `#!/bin/sh
echo "$UWF_ROLE" >> turns
uwf cas put "a note of $UWF_ROLE" >> puts
while [ ! -e go ] && [ ! -e "go-$UWF_ROLE" ]; do sleep 0.02; done
printf -- '---\\n$status: done\\n---\\n%s has waited.\\n' "$UWF_ROLE"
`;

const agents = {
  robot: { package: 'builtin:command', config: { argv: ['./agent'], graceMs: 300 } },
  below: { package: 'builtin:workflow', config: { workflow: 'inner' } },
};

function createNestedScene(): Scene {
  const rules = rulesOf(['plan > build: Build it.', 'build > end']);
  return createScene({
    '.uwf/workflows/outer.yaml': workflow('outer', { plan: role('done'), build: role('done', 'failed') }, rules),
    '.uwf/workflows/inner.yaml': chain('inner', ['first', 'second']),
    '.uwf/config.yaml': config([], { agents, roles: { build: 'below' } }),
    agent: noting,
  });
}

type Walked = { thread: string; nodes: Record<string, unknown>[] };

/** Reads every node that a thread reaches, each proved by its hash. */
async function walk(scene: Scene, thread: string): Promise<Walked> {
  const { code, json, stderr } = await scene.uwf(['cas', 'walk', thread, '--json']);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(json.length).toBeGreaterThan(20);
  return { thread, nodes: json };
}

test('a parent that is killed while its child runs goes on with that very child, and nothing of the two is lost', async () => {
  const scene = createNestedScene();
  const parent = await scene.startThread('outer');
  scene.write('go-plan', '');
  scene.write('go-first', '');
  const killed = scene.start(['thread', 'run', parent, '--json']);
  await until('the second role of the child works', () => scene.lines('puts').length === 3);
  const shown = await scene.uwf(['thread', 'show', parent, '--json']);
  expect(shown.json[0]).toMatchObject({ status: 'running', steps: 1, children: [expect.any(String)] });
  const [child = ''] = (shown.json[0]?.['children'] ?? []) as string[];
  expect((await scene.uwf(['thread', 'show', child, '--json'])).json[0]).toMatchObject({ status: 'running', steps: 1 });
  killed.process.kill('SIGKILL');
  await killed.outcome;

  scene.write('go', '');
  const { code, json: events } = await scene.uwf(['thread', 'run', parent, '--json']);
  expect({ code, last: events.at(-1) }).toMatchObject({ code: 0, last: { event: 'thread.ended', thread: parent } });
  // Only the turn that was under way when it was killed is taken again.
  expect(scene.lines('turns')).toEqual(['plan', 'first', 'second', 'second']);
  const after = await scene.uwf(['thread', 'show', parent, '--json']);
  expect(after.json[0]).toMatchObject({ status: 'ended', steps: 2, children: [child] });
  expect((await scene.uwf(['thread', 'show', child, '--json'])).json[0]).toMatchObject({
    status: 'ended',
    steps: 2,
    parent,
  });
  expect(scene.git('for-each-ref', 'refs/threads')).toBe('');
  expect(scene.git('for-each-ref', 'refs/history').split('\n')).toHaveLength(2);

  const history = scene.git('for-each-ref', '--format=%(refname)', `refs/history/*/${parent}`);
  expect(scene.git('log', '--first-parent', '--format=%s', history).split('\n')).toEqual([
    'completed: second has waited.',
    'build: second has waited.',
    'plan: plan has waited.',
    'outer: do it',
  ]);
  // The child is drawn between the two steps.
  const graph = scene.git('log', '--graph', '--format=%s', history).split('\n');
  expect(graph).toEqual([
    '* completed: second has waited.',
    '*   build: second has waited.',
    '|\\  ',
    '| * completed: second has waited.',
    '| * second: second has waited.',
    '| * first: first has waited.',
    '| * inner: Build it.',
    '|/  ',
    '* plan: plan has waited.',
    '* outer: do it',
  ]);

  const before = [await walk(scene, parent), await walk(scene, child)];
  scene.git('gc', '--quiet', '--prune=now');
  rmSync(join(scene.gitDir, 'uwf'), { recursive: true });
  expect([await walk(scene, parent), await walk(scene, child)]).toEqual(before);
  const notes = await scene.uwf(['cas', 'list', '--thread', child, '--json']);
  expect(notes.json.map(({ hash }) => hash)).toEqual(expect.arrayContaining(scene.lines('puts').slice(1, 2)));
  expect(unfinishedBelow(scene.gitDir)).toEqual([]);
  expectCleanFsck(scene.dir);

  // One ref of the parent is all that another repository needs.
  const other = createScene({}, createTemporaryRepository());
  other.git('fetch', '--quiet', scene.dir, `${history}:${history}`);
  expect(await walk(other, parent)).toEqual(before[0]);
  expectCleanFsck(other.dir);
});
