import { beforeAll, describe, expect, test } from 'vitest';
import { createCliRepository, scriptedConfig, type CliRepository } from '../../helpers/cli.ts';

const COUNT = 23;
const items = Array.from({ length: COUNT }, (_, place) => ({ id: `part-${place}` }));
const status = (...names: string[]): string => `{ properties: { $status: { enum: [${names.join(', ')}] } } }`;

const workflow = `name: many
roles:
  planner: { schema: { properties: { items: { type: array } }, required: [items] } }
  worker: { schema: ${status('good')} }
blocks:
  work:
    isolation: shared
    each: { over: "$last('planner').items", as: item, key: item.id, role: worker, prompt: 'Do {{ item.id }}.' }
    join: all
moderator:
  - { from: __start__, to: planner }
  - { from: planner, to: work }
  - { from: work, to: __end__ }
`;

/** A repository in which a thread has run to its end, or as far as it goes. */
async function ran(worker: object): Promise<{ repository: CliRepository; thread: string }> {
  const replies = {
    planner: [{ meta: { items }, reply: 'A plan.' }],
    worker: [{ meta: { $status: 'good' }, ...worker }],
  };
  const files = { '.uwf/workflows/many.yaml': workflow, '.uwf/config.yaml': scriptedConfig(replies) };
  const repository = createCliRepository(files);
  const { stdout } = await repository.uwf(['run', 'many', '-p', 'Go.', '--json=thread']);
  const thread = /"thread":"([^"]+)"/.exec(stdout)?.[1] ?? '';
  return { repository, thread };
}

describe('a block of many branches that have ended', () => {
  let repository: CliRepository;
  let thread: string;
  beforeAll(async () => {
    ({ repository, thread } = await ran({ reply: 'Done.' }));
  });

  test('is folded by show, with the keys of the first', async () => {
    const { stdout } = await repository.uwf(['thread', 'show', thread]);
    expect(stdout.match(/ended {2}work part-\d+ {2}end/g)).toHaveLength(20);
    expect(stdout).toContain(`… and ${COUNT - 20} ended; --json=calls has all`);
  });

  test('is folded in the graph of the log, where each start names its key', async () => {
    const { stdout } = await repository.uwf(['log', '--graph', thread]);
    expect(stdout.match(/start of part-\d+: Do part-\d+\./g)).toHaveLength(20);
    expect(stdout).toContain(`| … and ${COUNT - 20} more`);
  });

  test('is folded where its step is shown', async () => {
    const { stdout } = await repository.uwf(['step', 'show', '2', '--thread', thread]);
    expect(stdout).toMatch(/^children .*, … and 3 more$/m);
  });

  test('has branches that name themselves', async () => {
    const { stdout } = await repository.uwf(['thread', 'show', thread, '--query', 'calls[key = "part-7"].thread']);
    const branch = await repository.uwf(['thread', 'show', JSON.parse(stdout) as string, '--json=branch']); // as asked
    expect(JSON.parse(branch.stdout)).toEqual({ branch: { block: 'work', key: 'part-7' } });
  });
});

test('branches that wait are folded in the graph, and all their questions are shown', async () => {
  const { repository, thread } = await ran({ suspend: 'Which?', reply: 'So.' });
  const graph = await repository.uwf(['log', '--graph', thread]);
  expect(graph.stdout.match(/start of part-\d+/g)).toHaveLength(20);
  expect(graph.stdout).toContain(`| … and ${COUNT - 20} more`);
  const shown = await repository.uwf(['thread', 'show', thread]);
  expect(shown.stdout).toContain(`status    suspended: ${COUNT} branches wait: part-0: Which? part-10: Which?`);
  const [, asking = '', key] = /(\S+) {2}suspended {2}work (part-\d+)$/m.exec(shown.stdout) ?? [];
  const { stderr } = await repository.uwf(['thread', 'resume', asking, '-p', 'this']);
  expect(stderr).toContain(`branch ${key} continues: thread ${asking}\n`);
  const after = (await repository.uwf(['thread', 'show', thread])).stdout;
  expect(after).toContain(`suspended: ${COUNT - 1} branches wait: `);
  expect(after).not.toContain(`${key}: Which?`);
});

test('a run that waits for several branches says how to answer each, with its key', async () => {
  const { repository, thread } = await ran({ suspend: 'Which?', reply: 'So.' });
  const { stderr } = await repository.uwf(['thread', 'run', thread]);
  const hint = /^hint: (.*)$/m.exec(stderr)?.[1] ?? '';
  const named = [...hint.matchAll(/answer with 'uwf thread resume (\S+) -p <answer>' \((part-\d+)\)/g)];
  expect(named).toHaveLength(5);
  expect(hint).toContain(`'uwf thread show ${thread}' lists all that wait`);
  for (const [, branch = '', key] of named) {
    const shown = await repository.uwf(['thread', 'show', branch, '--json=branch']);
    expect(JSON.parse(shown.stdout)).toMatchObject({ branch: { key } });
  }
});

test('a person who has the role of a branch is asked its own prompt', async () => {
  const votes = `name: votes
roles:
  voter: { description: votes, schema: ${status('yes', 'no')} }
blocks:
  vote:
    isolation: none
    branches: { a: { role: voter, prompt: 'Is A right?' }, b: { role: voter, prompt: 'Is B right?' } }
    join: all
moderator:
  - { from: __start__, to: vote }
  - { from: vote, to: __end__ }
`;
  const config = `agents: { me: { package: 'builtin:human' } }\ndefaultAgent: me\n`;
  const { says } = createCliRepository({ '.uwf/workflows/votes.yaml': votes, '.uwf/config.yaml': config });
  await says('run votes -p Vote.', 4, /^a: Is A right\? \[yes\/no\]\nb: Is B right\? \[yes\/no\]$/m);
});

test('show does not say of a branch that a block has cancelled that a try has left it', async () => {
  const first = `name: first
roles:
  fast: { schema: ${status('good')} }
  slow: { schema: ${status('good')} }
blocks:
  work:
    isolation: shared
    branches: { a: { role: fast, prompt: 'Do.' }, b: { role: slow, prompt: 'Do.' } }
    join: { atLeast: 1 }
moderator:
  - { from: __start__, to: work }
  - { from: work, to: __end__ }
`;
  const good = { meta: { $status: 'good' }, reply: 'Done.' };
  const repository = createCliRepository({
    '.uwf/workflows/first.yaml': first,
    '.uwf/config.yaml': scriptedConfig({ fast: [{ ...good, delayMs: 500 }], slow: [{ suspend: 'Which?', ...good }] }),
  });
  const { stdout } = await repository.uwf(['run', 'first', '-p', 'Go.', '--json=thread']);
  const shown = await repository.uwf(['thread', 'show', /"thread":"([^"]+)"/.exec(stdout)?.[1] ?? '']);
  expect(shown.stdout).toMatch(/cancelled {2}work b\b/);
  expect(shown.stdout).not.toContain('no later try');
});
