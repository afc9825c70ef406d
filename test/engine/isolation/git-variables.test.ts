import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { withTrialThread } from '../../../src/engine/agents/trial-thread.ts';
import { createEngineContext } from '../../../src/engine/engine-context.ts';
import { createEngine } from '../../../src/engine/engine.ts';
import { openRepository } from '../../../src/git/open-repository.ts';
import type { Isolation } from '../../../src/workflow/definition.ts';
import { getThread } from '../../../src/thread/find-thread.ts';
import { readThread } from '../../../src/thread/thread-chain.ts';
import { configOf, createFixture, statuses, workflow, type EngineFixture } from '../engine-fixture.ts';

/** All that an agent sees of git's variables, in a file of its own; then it commits as an agent does. */
const COMMIT = `env | grep '^GIT_' | cut -d= -f1 | sort > "$SEEN"; echo x > mine; git add mine && git -c user.name=a -c user.email=a@b commit -qm mine`;

function command(script: string): { package: string; config: { argv: string[] } } {
  const end = "printf -- '---\\n$status: done\\n---\\ndid it\\n'";
  return { package: 'builtin:command', config: { argv: ['sh', '-c', `{ ${script}\n} >&2; ${end}`] } };
}

type Given = EngineFixture & { tree: string; folder: string; run: (role: Role) => Promise<string> };
type Role = { isolation?: Isolation; location?: string; script?: string; setup?: string };

/** A linked work tree in which a user has staged a file, and runs of uwf there with the variables that a hook has. */
async function givenTree(): Promise<Given> {
  const fixture = await createFixture(configOf({}));
  const { dir, git } = fixture;
  writeFileSync(join(dir, 'tracked'), 'one\n');
  git('add', '-A');
  git('commit', '-qm', 'code');
  const folder = `${dir}-more`;
  mkdirSync(folder);
  const tree = join(folder, 'linked');
  git('worktree', 'add', '-q', '-b', 'feature', tree);
  writeFileSync(join(tree, 'staged'), 'mine\n');
  git('-C', tree, 'add', 'staged');
  const gitDir = git('-C', tree, 'rev-parse', '--absolute-git-dir');
  const variables = {
    GIT_DIR: gitDir,
    GIT_WORK_TREE: tree,
    GIT_INDEX_FILE: join(gitDir, 'index'),
    GIT_COMMON_DIR: join(dir, '.git'),
    GIT_OBJECT_DIRECTORY: join(dir, '.git/objects'),
    GIT_ALTERNATE_OBJECT_DIRECTORIES: join(dir, '.git/objects'),
    GIT_PREFIX: 'sub/',
    GIT_NAMESPACE: 'space',
  };
  const env = {
    PATH: process.env['PATH'],
    HOME: folder,
    GIT_CONFIG_NOSYSTEM: '1',
    SEEN: join(folder, 'seen'),
    ...variables,
  };
  const run: Given['run'] = async ({ isolation = 'none', location, script = COMMIT, setup }) => {
    const repository = await openRepository(tree, { env });
    const config = {
      ...configOf({ coder: command(script) }),
      ...(setup !== undefined && { isolation: { setup: ['sh', '-c', setup] as [string, ...string[]] } }),
    };
    const workTrees = join(folder, 'trees');
    const onEvent = (event: (typeof fixture.events)[number]): void => void fixture.events.push(event);
    const engine = createEngine({ repository, config, env, workTrees, onEvent });
    const definition = workflow(
      'w',
      { coder: statuses('done') },
      [
        { from: '__start__', to: 'coder', when: null, ...(location !== undefined && { location }) },
        { from: 'coder', to: '__end__', when: null },
      ],
      { isolation },
    );
    const { thread } = await engine.start({ definition, prompt: 'p', ...(isolation !== 'none' && { base: 'head' }) });
    const over = await engine.run(thread);
    expect(over).toMatchObject({ event: 'thread.ended', returnCode: 0 });
    return thread;
  };
  return { ...fixture, tree, folder, run };
}

/** What git knows of the user's work tree. */
function stateOf({ git, tree }: Given): string {
  return [
    ['rev-parse', 'HEAD'],
    ['ls-files', '--stage'],
    ['status', '--porcelain'],
  ]
    .map((args) => git('-C', tree, ...args))
    .join('\n');
}

test('an agent in a work tree of its own gets no variable of git that names a place, and commits there', async () => {
  const given = await givenTree();
  const before = stateOf(given);
  const thread = await given.run({ isolation: 'worktree' });
  expect(readFileSync(join(given.folder, 'seen'), 'utf8')).toBe('GIT_CONFIG_NOSYSTEM\n');
  expect(stateOf(given)).toBe(before);
  const { id, head } = await getThread(given.repository, thread);
  const { steps } = await readThread(given.repository, id, head);
  const { workspace, isolation } = steps[0]?.commit.node ?? {};
  expect(isolation).toBeUndefined();
  expect(given.git('log', '-1', '--format=%s', `${workspace?.commit}^`)).toBe('mine');
});

test('the program that prepares its work tree gets none of them either', async () => {
  const given = await givenTree();
  const before = stateOf(given);
  await given.run({ isolation: 'worktree', setup: COMMIT, script: 'true' });
  expect(stateOf(given)).toBe(before);
});

test('an agent that a rule puts into another work tree gets none of them, and one that stays has all', async () => {
  const given = await givenTree();
  const other = join(given.folder, 'other');
  given.git('worktree', 'add', '-q', '-b', 'other', other);
  const before = stateOf(given);
  await given.run({ location: other });
  expect(stateOf(given)).toBe(before);
  expect(given.git('log', '-1', '--format=%s', 'other')).toBe('mine');
  await given.run({ script: 'env | grep "^GIT_" | wc -l > "$SEEN"' });
  expect(Number(readFileSync(join(given.folder, 'seen'), 'utf8'))).toBe(9);
});

test('a change of the work tree that the command was given in is found out after an isolated turn', async () => {
  const given = await givenTree();
  const thread = await given.run({
    isolation: 'worktree',
    script: `echo x > '${given.tree}/tracked'; git -C '${given.tree}' add .`,
  });
  const { id, head } = await getThread(given.repository, thread);
  const { steps } = await readThread(given.repository, id, head);
  expect(steps[0]?.commit.node.isolation).toEqual({ given: { index: true, files: { count: 1, paths: ['tracked'] } } });
  expect(given.events).toContainEqual(expect.objectContaining({ event: 'main.changed', given: expect.any(Object) }));
});

test('an agent that is tried in an empty folder gets none of them', async () => {
  const { repository } = await createFixture(configOf({}));
  const env = { GIT_DIR: repository.location?.gitDir, GIT_INDEX_FILE: 'index', GIT_AUTHOR_NAME: 'me' };
  const context = createEngineContext({ repository, config: configOf({}), env });
  await withTrialThread(context, async ({ env: given }) => {
    expect(Object.keys(given).filter((name) => name.startsWith('GIT_'))).toEqual(['GIT_AUTHOR_NAME']);
  });
});
