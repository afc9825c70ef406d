import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createTemporaryFolder, isolatedGitEnvironment } from '../../helpers/temporary-repository.ts';
import { createPair, createStrictRepository, pairConfig, pairWorkflow, script } from '../../helpers/untrusted.ts';

type Pair = ReturnType<typeof createPair>;

const root = resolve(import.meta.dirname, '../../..');
const run = ['run', 'pair', '-p', 'go'];
const everything = { env: { UWF_TRUST: 'all' } };

function ran({ dir }: Pair): string[] {
  return readdirSync(dir).filter((name) => name.startsWith('ran-'));
}

/** What can be run now without a word: exit code 0, or 6 and the names that are asked for. */
async function outcome(repository: Pair, argv: readonly string[] = run): Promise<string> {
  const { code, stderr } = await repository.uwf(argv);
  const names = /would run: (.*)$/m.exec(stderr)?.[1] ?? '';
  return code === 0 ? 'ran' : `${code} ${names}`;
}

async function trusted(files: Record<string, string> = {}): Promise<Pair> {
  const repository = createPair(files);
  expect(await repository.uwf(['trust', '--all'])).toMatchObject({ code: 0 });
  expect(await outcome(repository)).toBe('ran');
  return repository;
}

function refs(repository: Pair): string {
  return repository.git('for-each-ref');
}

describe('before the word nothing runs, and nothing is stored', () => {
  test('a run names all agents that it can need, and how to agree', async () => {
    const repository = createPair();
    const result = await repository.uwf(run);
    expect(result).toMatchObject({ code: 6, stdout: '' });
    expect(result.stderr).toContain('would run: agents.one, agents.two\n');
    expect(result.stderr).toContain("'uwf trust one two' agrees");
    expect([ran(repository), refs(repository)]).toEqual([[], '']);
  });

  test.each([
    ['thread', 'step', '<idle>'],
    ['thread', 'run', '<idle>'],
    ['thread', 'run', '<idle>', '--background'],
    ['thread', 'run', '<idle>', '--agent', 'three'],
    ['thread', 'resume', '<ended>', '-p', 'more'],
    ['thread', 'resume', '<ended>', '-p', 'more', '--background'],
    ['thread', 'poke', '<stepped>', '-p', 'again'],
    ['thread', 'ask', '<stepped>', '-p', 'why?'],
    ['thread', 'compact', '<stepped>'],
    ['run', 'pair', '-p', 'x', '--background'],
    ['agent', 'test', 'one'],
  ])('%s %s %s %s %s', async (...argv) => {
    const config = JSON.parse(pairConfig()) as { agents: Record<string, unknown> };
    config.agents['three'] = { package: 'builtin:command', config: { argv: ['sh', 'three.sh'] } };
    const repository = createPair({
      '.uwf/workflows/pair.yaml': `${pairWorkflow}  - { from: __resume__, to: first }\n`,
      '.uwf/config.yaml': JSON.stringify(config),
      'three.sh': script('three'),
    });
    const start = async (): Promise<string> => await repository.start('pair', 'go');
    const threads: Record<string, string> = { idle: await start(), stepped: await start(), ended: await start() };
    await repository.uwf(['thread', 'step', threads['stepped'] ?? ''], everything);
    expect(await repository.uwf(['thread', 'run', threads['ended'] ?? ''], everything)).toMatchObject({ code: 0 });
    for (const name of ran(repository)) rmSync(join(repository.dir, name));
    const before = refs(repository);
    const words = argv
      .filter((word) => word !== undefined)
      .map((word) => word.replace(/^<(\w+)>$/, (_, name: string) => threads[name] ?? ''));
    const result = await repository.uwf(words);
    expect(result.code, result.all).toBe(6);
    expect(result.stderr).toMatch(/'uwf trust [a-z ]+' agrees/);
    expect([ran(repository), refs(repository)]).toEqual([[], before]);
  });

  test('a step asks for the agent that it runs, and for no other', async () => {
    const repository = createPair();
    const thread = await repository.start('pair', 'go');
    expect(await outcome(repository, ['thread', 'step', thread])).toBe('6 agents.one');
    expect(await repository.uwf(['trust', 'one'])).toMatchObject({ code: 0 });
    expect(await outcome(repository, ['thread', 'step', thread])).toBe('ran');
    expect(await outcome(repository, ['thread', 'step', thread])).toBe('6 agents.two');
    expect(ran(repository)).toEqual(['ran-one']);
  });

  test('the agents of sub-workflows and the one that sums up are among those asked for', async () => {
    const outer = pairWorkflow.replace('name: pair', 'name: outer');
    const config = JSON.parse(pairConfig()) as { agents: Record<string, unknown>; roles: Record<string, string> };
    config.agents['inner'] = { package: 'builtin:workflow', config: { workflow: 'pair' } };
    config.agents['sum'] = { package: 'builtin:command', config: { argv: ['true'] } };
    Object.assign(config.roles, { 'outer.first': 'inner', 'outer.second': 'two' });
    const context = { compactor: 'sum', compactAtCharacters: 1 };
    const repository = createPair({
      '.uwf/workflows/outer.yaml': outer,
      '.uwf/config.yaml': JSON.stringify({ ...config, context }),
    });
    const names = (await outcome(repository, ['run', 'outer', '-p', 'go'])).replace('6 ', '').split(', ');
    expect(names.toSorted()).toEqual(['agents.one', 'agents.sum', 'agents.two']);
    expect([ran(repository), refs(repository)]).toEqual([[], '']);
  });

  test('UWF_TRUST=all agrees to everything and keeps nothing; another value agrees to nothing', async () => {
    const repository = createPair();
    expect(await repository.uwf(run, { env: { UWF_TRUST: '1' } })).toMatchObject({ code: 6 });
    expect(await repository.uwf(run, everything)).toMatchObject({ code: 0 });
    expect(await outcome(repository)).toBe('6 agents.one, agents.two');
  });
});

describe('what was agreed to is asked for again', () => {
  const edit = (change: (config: ReturnType<typeof JSON.parse>) => void) => (repository: Pair) => {
    const file = join(repository.dir, '.uwf/config.yaml');
    const config: unknown = JSON.parse(readFileSync(file, 'utf8'));
    change(config);
    writeFileSync(file, JSON.stringify(config));
  };
  const write = (path: string, text: string) => (repository: Pair) => repository.write(path, text);

  test.each<[string, string, (repository: Pair) => void]>([
    ['other arguments', '6 agents.one', edit(({ agents }) => agents.one.config.argv.push('--x'))],
    ['a variable', '6 agents.two', edit(({ agents }) => (agents.two.config.env = { LD_PRELOAD: './x.so' }))],
    ['a script that its command line names', '6 agents.two', write('two.sh', `${script('two')}# more`)],
    ['another package', '6 agents.one', edit(({ agents }) => (agents.one.package = 'uwf-agent-one'))],
    [
      'a role bound to another agent',
      '6 agents.new',
      edit((config) => {
        config.agents.new = { package: 'builtin:command', config: { argv: ['sh', 'one.sh'] } };
        config.roles['pair.first'] = 'new';
      }),
    ],
    ['a key that lets data out', '6 snapshot', edit((config) => (config.snapshot = { mode: 'on' }))],
    [
      "the same agent in the git folder's file",
      '6 agents.one',
      write(
        '.git/uwf/config.yaml',
        'agents: { one: { package: "builtin:command", config: { argv: [sh, one.sh, x] } } }',
      ),
    ],
    [
      'a script that became a link',
      '6 agents.one',
      ({ dir }) => {
        rmSync(join(dir, 'one.sh'));
        writeFileSync(join(dir, 'other'), 'exit 1');
        symlinkSync('other', join(dir, 'one.sh'));
      },
    ],
  ])('after %s', async (_, expected, change) => {
    const repository = await trusted();
    change(repository);
    expect(await outcome(repository)).toBe(expected);
  });

  test.each<[string, (repository: Pair) => void]>([
    [
      'limits, other bindings of trusted agents, what agents are told',
      edit((config) => {
        config.limits = { maxSteps: 9 };
        config.roles = { second: 'one' };
        config.defaultAgent = 'two';
        config.context = { maxCharacters: 100 };
        config.foldPacks = false;
      }),
    ],
    [
      'the order of keys and comments',
      ({ write: put, dir }) => {
        const config = JSON.parse(readFileSync(join(dir, '.uwf/config.yaml'), 'utf8')) as Record<string, unknown>;
        put(
          '.uwf/config.yaml',
          `# as before\n${JSON.stringify(Object.fromEntries(Object.entries(config).toReversed()), null, 1)}`,
        );
      },
    ],
    [
      'an agent that the workflow does not need',
      edit(({ agents }) => (agents.three = { package: 'builtin:command', config: { argv: ['x'] } })),
    ],
    ['files that nothing names', write('README.md', 'Read me.')],
  ])('but not after %s', async (_, change) => {
    const repository = await trusted();
    change(repository);
    expect(await outcome(repository)).toBe('ran');
  });

  const agent = (config: unknown): string =>
    JSON.stringify({ agents: { one: { package: 'builtin:command', config } }, defaultAgent: 'one' });
  const path = (folder: string): { PATH: string } => ({ PATH: `${folder}:${process.env['PATH']}` });

  test.each<[string, unknown, string]>([
    ['a program that its own PATH finds in the repository', { argv: ['tool'], env: path('bin') }, 'bin/tool'],
    ['one that a shell would find there', { argv: ['sh', '-c', 'tool'], env: path('./bin') }, 'bin/tool'],
    [
      "one of a server's PATH",
      { argv: ['true'], servers: { docs: { command: 'tool', env: path('bin') } } },
      'bin/tool',
    ],
    ['a file that a link in that PATH leads to', { argv: ['tool'], env: path('links') }, 'bin/tool'],
    ['a script after others', { argv: ['sh', 'a.sh', 'tools/do.sh', '--fast'] }, 'tools/do.sh'],
    ['the value of an option', { argv: ['node', '--import=./tools/do.sh', 'x'] }, 'tools/do.sh'],
    ['the value of a variable', { argv: ['sh'], env: { BASH_ENV: 'tools/do.sh' } }, 'tools/do.sh'],
    ['a path around', { argv: ['sh', './bin/../tools/do.sh'] }, 'tools/do.sh'],
    ['a path through a link', { argv: ['sh', 'around/tools/do.sh'] }, 'tools/do.sh'],
    ['a command line that is a path', { argv: ['sh', '-c', './tools/do.sh'] }, 'tools/do.sh'],
  ])('after %s', async (_, config, changed) => {
    const repository = createPair({
      '.uwf/config.yaml': agent(config),
      'bin/tool': '#!/bin/sh\n',
      'tools/do.sh': '#!/bin/sh\n',
    });
    mkdirSync(join(repository.dir, 'links'));
    symlinkSync('../bin/tool', join(repository.dir, 'links/tool'));
    symlinkSync('.', join(repository.dir, 'around'));
    await repository.uwf(['trust', '--all']);
    expect(await repository.uwf(['trust'])).toMatchObject({ code: 0 });
    writeFileSync(join(repository.dir, changed), '#!/bin/sh\n# more');
    const { code, stdout } = await repository.uwf(['trust']);
    expect({ code, stdout }).toEqual({
      code: 6,
      stdout: expect.stringMatching(/- (.*): 10 bytes, .*\n(?: {4}.*\n)*  \+ \1: 16 bytes, sha256/) as string,
    });
  });

  test('after a script that an absolute path names through a link outside', async () => {
    const repository = createPair({ 'tools/do.sh': '#!/bin/sh\n' });
    const alias = `${createTemporaryFolder()}/alias`;
    symlinkSync(repository.dir, alias);
    repository.write('.uwf/config.yaml', agent({ argv: ['sh', `${alias}/tools/do.sh`] }));
    expect(await repository.uwf(['trust', '--all'])).toMatchObject({ code: 0 });
    repository.write('tools/do.sh', '#!/bin/sh\n# more');
    expect(await repository.uwf(['trust'])).toMatchObject({ code: 6 });
  });

  test('but not after a change of files in the command line of a shell', async () => {
    const line = `date > made.txt; printf '%s\n' --- 'ok: true' ---`;
    const repository = createPair({ '.uwf/config.yaml': agent({ argv: ['sh', '-c', line] }) });
    expect(await repository.uwf(['trust', '--all'])).toMatchObject({ code: 0 });
    for (const expected of ['ran', 'ran']) expect(await outcome(repository)).toBe(expected);
    expect(existsSync(join(repository.dir, 'made.txt'))).toBe(true);
  });

  test('what was agreed to once needs no second word when it comes back', async () => {
    const repository = await trusted();
    repository.write('two.sh', `${script('two')}# other branch`);
    expect(await repository.uwf(['trust', 'two'])).toMatchObject({ code: 0 });
    repository.write('two.sh', script('two'));
    expect(await outcome(repository)).toBe('ran');
    repository.write('two.sh', `${script('two')}# other branch`);
    expect(await outcome(repository)).toBe('ran');
  });

  test('an agent that changes a script in a run is asked for by the next command', async () => {
    const repository = await trusted({ 'one.sh': `echo '# more' >> two.sh\n${script('one')}` });
    expect(ran(repository)).toEqual(['ran-one', 'ran-two']);
    expect(await outcome(repository)).toBe('6 agents.two');
  });

  test('another repository asks for itself, and so does this one elsewhere', async () => {
    const repository = await trusted();
    const copy = createPair();
    expect(await copy.uwf(run, { env: repository.user })).toMatchObject({ code: 6 });
    const moved = `${repository.dir}-moved`;
    renameSync(repository.dir, moved);
    expect(await copy.uwf(run, { env: repository.user, cwd: moved })).toMatchObject({ code: 6 });
    rmSync(moved, { recursive: true });
  });
});

test('what a repository allows to stay counts once it was agreed to, and what it takes out at once', async () => {
  const redact = { rules: [{ name: 'acme', pattern: 'acme-[0-9]+' }], allow: [{ rule: 'acme', path: '**' }] };
  const replies = { first: ['---\nok: true\n---\n'], second: ['---\nok: true\n---\n'] };
  const config = {
    agents: { me: { package: 'builtin:scripted', config: { replies, repeat: true } } },
    defaultAgent: 'me',
  };
  const repository = createPair({
    '.uwf/config.yaml': JSON.stringify({ ...config, redact }),
    '.git/uwf/config.yaml': 'redact: off',
  });
  const start = async (): Promise<string> => {
    const thread = await repository.start('pair', 'the key is acme-123');
    return repository.git('log', '-1', '--format=%B', `refs/threads/${thread}`);
  };
  expect(await start()).not.toContain('acme-123');
  expect(await outcome(repository)).toBe('6 redact');
  await repository.uwf(['trust', 'redact']);
  expect(await start()).toContain('acme-123');
});

describe('packages', () => {
  function withPackage(more: Record<string, string> = {}): Pair {
    const config = { agents: { lister: { package: 'uwf-agent-sample' } }, defaultAgent: 'lister' };
    const workflow = pairWorkflow.replaceAll('{ type: object }', '{ properties: { files: { type: array } } }');
    const repository = createStrictRepository({
      '.uwf/workflows/pair.yaml': workflow,
      '.uwf/config.yaml': JSON.stringify(config),
      ...more,
    });
    cpSync(join(root, 'fixtures/packages/uwf-agent-sample'), join(repository.dir, 'node_modules/uwf-agent-sample'), {
      recursive: true,
    });
    repository.git('commit', '--quiet', '--allow-empty', '-m', 'first');
    return repository;
  }

  test('that lie in the work tree are asked for by their files', async () => {
    const repository = withPackage();
    expect(await outcome(repository)).toBe('6 agents.lister');
    await repository.uwf(['trust', 'lister']);
    expect(await outcome(repository)).toBe('ran');
    repository.write('node_modules/uwf-agent-sample/deep/er.js', '// new');
    expect(await outcome(repository)).toBe('6 agents.lister');
  });

  test("that the user's own configuration names, too", async () => {
    const repository = withPackage({ '.uwf/config.yaml': 'defaultAgent: lister' });
    mkdirSync(`${repository.user['XDG_CONFIG_HOME']}/uwf`, { recursive: true });
    writeFileSync(
      `${repository.user['XDG_CONFIG_HOME']}/uwf/config.yaml`,
      'agents: { lister: { package: uwf-agent-sample } }',
    );
    expect(await outcome(repository)).toBe('6 agents.lister');
  });
});

describe("the user's own configuration", () => {
  function configure({ user }: Pair, text: string): void {
    mkdirSync(`${user['XDG_CONFIG_HOME']}/uwf`, { recursive: true });
    writeFileSync(`${user['XDG_CONFIG_HOME']}/uwf/config.yaml`, text);
  }
  const own = (argv: string): string =>
    `agents: { mine: { package: "builtin:command", config: { argv: ${argv} } } }\nsnapshot: { mode: changed }`;

  test('is trusted by being there', async () => {
    const repository = createPair({ '.uwf/config.yaml': 'defaultAgent: mine' });
    configure(repository, own(`[printf, '%s\\n', ---, 'ok: true', ---]`));
    expect(await outcome(repository)).toBe('ran');
  });

  test('gives no word for files of a repository that it names', async () => {
    const repository = createPair({ '.uwf/config.yaml': 'defaultAgent: mine' });
    configure(repository, own('[sh, one.sh]'));
    expect(await outcome(repository)).toBe('6 agents.mine');
  });
});

describe('agents that name no program and let no data out need no word', () => {
  test.each([
    ['a person', 'me: { package: "builtin:human" }', 4],
    [
      'replies',
      `me: { package: "builtin:scripted", config: { repeat: true, replies: { first: ["---\\nok: true\\n---\\n"], second: ["---\\nok: true\\n---\\n"] } } }`,
      0,
    ],
    ['a script of the repository', 'me: { package: "builtin:scripted", config: { repeat: true, file: one.yaml } }', 0],
    ["a person with the repository's editor", 'me: { package: "builtin:human", config: { editor: vi } }', 6],
    ['a script from elsewhere', 'me: { package: "builtin:scripted", config: { file: /etc/hostname } }', 6],
    ['a script behind a link', 'me: { package: "builtin:scripted", config: { file: link.yaml } }', 6],
    ['a model', 'me: { package: "builtin:llm", config: { baseUrl: "http://127.0.0.1:1/v1", model: m } }', 6],
  ])('%s', async (_, agent, code) => {
    const replies = 'first: ["---\\nok: true\\n---\\n"]\nsecond: ["---\\nok: true\\n---\\n"]\n';
    const repository = createPair({
      '.uwf/config.yaml': `agents:\n  ${agent}\ndefaultAgent: me\n`,
      'one.yaml': replies,
    });
    symlinkSync('/etc/hostname', join(repository.dir, 'link.yaml'));
    expect((await repository.uwf(run)).code).toBe(code);
  });
});

describe('what an agent left in a work tree that uwf made', () => {
  async function fork(): Promise<{ repository: Pair; thread: string; folder: string }> {
    const repository = createPair({ '.uwf/config.yaml': pairConfig({ snapshot: { mode: 'on' } }) });
    repository.git('add', '.');
    repository.git('commit', '--quiet', '-m', 'first');
    await repository.uwf(['trust', '--all']);
    expect(await outcome(repository)).toBe('ran');
    const [ended] = (await repository.json(['thread', 'list', '--all'])) as { thread: string }[];
    const folder = `${repository.dir}-fork`;
    const forked = await repository.json(['thread', 'fork', ended?.thread ?? '', '--at', '1', '--worktree', folder]);
    return { repository, thread: (forked as { thread: string }).thread, folder };
  }

  test('does not run: the command line names files of the main work tree', async () => {
    const { repository, thread, folder } = await fork();
    writeFileSync(join(folder, 'two.sh'), 'touch hostile');
    writeFileSync(join(folder, '.uwf/config.yaml'), pairConfig().replace('two.sh', 'hostile.sh'));
    writeFileSync(join(folder, 'hostile.sh'), 'touch hostile');
    const result = await repository.uwf(['thread', 'run', thread], { cwd: folder });
    expect(result.code, result.all).toBe(0);
    expect(existsSync(join(folder, 'hostile'))).toBe(false);
    expect(existsSync(join(folder, 'ran-two'))).toBe(true);
    repository.git('worktree', 'remove', '--force', folder);
  });

  test('asks for itself where the main work tree does not have it', async () => {
    const { repository, thread, folder } = await fork();
    rmSync(join(repository.dir, 'two.sh'));
    writeFileSync(join(folder, 'two.sh'), 'touch hostile');
    expect(await repository.uwf(['thread', 'run', thread], { cwd: folder })).toMatchObject({ code: 6 });
    expect(existsSync(join(folder, 'hostile'))).toBe(false);
    repository.git('worktree', 'remove', '--force', folder);
  });

  test('one that a person made asks where it differs, and only there', async () => {
    const { repository, folder } = await fork();
    const own = `${repository.dir}-own`;
    repository.git('worktree', 'add', '--quiet', '--detach', own);
    expect((await repository.uwf(run, { cwd: own })).code).toBe(0);
    writeFileSync(join(own, 'two.sh'), `${script('two')}# other`);
    const refused = await repository.uwf(run, { cwd: own });
    expect(refused).toMatchObject({ code: 6 });
    expect(refused.stderr).toContain('would run: agents.two\n');
    expect(await repository.uwf(['trust', 'two'], { cwd: own })).toMatchObject({ code: 0 });
    expect((await repository.uwf(run, { cwd: own })).code).toBe(0);
    for (const made of [own, folder]) repository.git('worktree', 'remove', '--force', made);
  });

  test('a role that works in another folder is asked for with the files there, and the hint leads to them', async () => {
    const workflow = pairWorkflow.replace('{ description: s,', '{ cwd: sub, description: s,');
    const repository = createPair({ '.uwf/workflows/pair.yaml': workflow, 'sub/two.sh': script('sub') });
    await repository.uwf(['trust', '--all']);
    const refused = await repository.uwf(run);
    expect(refused.code, refused.all).toBe(6);
    const hint = /'uwf (-C \S+ trust two)' agrees/.exec(refused.stderr)?.[1] ?? '';
    expect(await repository.uwf(hint.split(' '))).toMatchObject({ code: 0 });
    expect(await outcome(repository)).toBe('ran');
    expect(readdirSync(join(repository.dir, 'sub'))).toContain('ran-sub');
  });
});

describe('what is kept', () => {
  function trustFile({ user }: Pair): string {
    const folder = `${user['XDG_STATE_HOME']}/uwf/trust`;
    return join(folder, readdirSync(folder)[0] ?? '');
  }

  test("is the user's alone, and names the repository", async () => {
    const repository = await trusted();
    const file = trustFile(repository);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(file, '..'))).toHaveLength(1);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ repository: join(repository.dir, '.git') });
  });

  test.each<[string, (file: string) => void]>([
    ['others can write to it', (file) => chmodSync(file, 0o666)],
    ['others can write to its folder', (file) => chmodSync(join(file, '..'), 0o777)],
    [
      "it is another user's",
      (file) => (process.getuid?.() === 0 ? chownSync(file, 65_534, 65_534) : chmodSync(file, 0o666)),
    ],
    [
      'it is a link',
      (file) => {
        renameSync(file, `${file}-other`);
        symlinkSync(`${file}-other`, file);
      },
    ],
    ['it is damaged', (file) => writeFileSync(file, readFileSync(file, 'utf8').slice(0, -20))],
    ['it has another form', (file) => writeFileSync(file, readFileSync(file, 'utf8').replace('"digest"', '"digests"'))],
    [
      'it is about another repository',
      (file) => writeFileSync(file, readFileSync(file, 'utf8').replace('/.git"', '/.gut"')),
    ],
  ])('counts as nothing where %s', async (_, change) => {
    const repository = await trusted();
    change(trustFile(repository));
    expect(await outcome(repository)).toBe('6 agents.one, agents.two');
    expect(await repository.uwf(['trust', '--all'])).toMatchObject({ code: 0 });
    expect(await outcome(repository)).toBe('ran');
  });
});

describe('uwf trust', () => {
  test('shows what would run and what changed, and agrees to nothing without a terminal', async () => {
    const repository = await trusted();
    repository.write('.uwf/config.yaml', pairConfig().replace('two.sh', 'two.sh","--x'));
    const shown = await repository.uwf(['trust']);
    expect(shown.code).toBe(6);
    expect(shown.stdout).toContain('- config.argv: ["sh","two.sh"]');
    expect(shown.stdout).toContain('+ config.argv: ["sh","two.sh","--x"]');
    expect(shown.stdout).not.toContain('one.sh');
    expect(await outcome(repository)).toBe('6 agents.two');
  });

  test('lists and takes back', async () => {
    const repository = await trusted();
    repository.write('two.sh', 'exit 1');
    const states = async (): Promise<unknown> =>
      repository.json(['trust', '--list', '--query', '$.(name & " " & state)']);
    expect(await states()).toEqual(['agents.one trusted', 'agents.two changed']);
    expect(await repository.uwf(['trust', '--revoke', 'two'])).toMatchObject({
      code: 0,
      stdout: 'revoked agents.two\n',
    });
    expect(await states()).toEqual(['agents.one trusted', 'agents.two new']);
    expect(await repository.uwf(['trust', '--revoke'])).toMatchObject({ code: 0, stdout: 'revoked agents.one\n' });
    expect(await outcome(repository)).toBe('6 agents.one, agents.two');
  });

  test('refuses a name that nothing has, and options that do not go together', async () => {
    const repository = createPair();
    expect(await repository.uwf(['trust', 'tow'])).toMatchObject({ code: 2 });
    expect((await repository.uwf(['trust', 'tow'])).stderr).toContain("did you mean 'two'?");
    expect(await repository.uwf(['trust', '--all', '--list'])).toMatchObject({ code: 2 });
  });

  test('is not for an agent at work', async () => {
    const repository = createPair();
    expect(await repository.uwf(['trust', '--all'], { env: { UWF_THREAD: '01KAM4' } })).toMatchObject({ code: 6 });
    expect(await outcome(repository)).toBe('6 agents.one, agents.two');
  });

  test('counts spaces that would push the rest off the screen', async () => {
    const argv = ['sh', '-c', `hostile${' '.repeat(20_000)}`];
    const padded = { agents: { one: { package: 'builtin:command', config: { argv } } }, defaultAgent: 'one' };
    const repository = createPair({ '.uwf/config.yaml': JSON.stringify(padded) });
    expect((await repository.uwf(['trust'])).stdout).toContain('hostile\\u{20}*20000"]');
  });

  test.each(['\u3164', '\u115F', '\uFFA0', '\u2800', '\uFE0F', '\u034F', '\u{E0101}'])(
    'shows the blank %j',
    async (blank) => {
      const argv = ['sh', '-c', `hostile${blank.repeat(3)}`];
      const padded = { agents: { one: { package: 'builtin:command', config: { argv } } }, defaultAgent: 'one' };
      const repository = createPair({ '.uwf/config.yaml': JSON.stringify(padded) });
      const shown = `\\u{${blank.codePointAt(0)?.toString(16)}}`;
      expect((await repository.uwf(['trust'])).stdout).toContain(`hostile${shown.repeat(3)}"]`);
    },
  );

  test('shows what hides on a terminal as what it is, and repeats no name for a shell', async () => {
    const name = 'one\u202Eeno\u001B[2K$(touch x)';
    const config = {
      agents: { [name]: { package: 'builtin:command', config: { argv: ['sh', '\u2066\u0007'] } } },
      defaultAgent: name,
    };
    const repository = createPair({ '.uwf/config.yaml': JSON.stringify(config) });
    const { stdout, stderr, all } = await repository.uwf(['trust']);
    expect(stdout).toContain('agents.one\\u{202e}eno\\u{1b}[2K$(touch x)');
    expect(stdout).toContain('["sh","\\u{2066}');
    // oxlint-disable-next-line no-control-regex -- they are what must not be there
    expect(all).not.toMatch(/[\u0000-\u0009\u000B-\u001F\u202A-\u202E\u2066-\u2069]/);
    expect(stderr).toContain("'uwf trust --all' agrees");
  });
});

describe('uwf init', () => {
  test('agrees to what it writes, and to nothing else', async () => {
    const repository = createStrictRepository({});
    expect(await repository.uwf(['init', '--with', 'find-regression'])).toMatchObject({ code: 0 });
    const states = (await repository.json(['trust', '--list'])) as { state: string }[];
    expect(states.map(({ state }) => state)).toEqual(['trusted', 'trusted', 'trusted', 'trusted']);
  });

  test('does not agree to what was there, or is said elsewhere', async () => {
    const evil = { package: 'builtin:command', config: { argv: ['touch', 'hostile'] } };
    const repository = createStrictRepository({
      '.uwf/config.yaml': JSON.stringify({ agents: { 'find-regression-pick': evil, other: evil } }),
      '.git/uwf/config.yaml': JSON.stringify({ agents: { 'find-regression-try': evil } }),
    });
    await repository.uwf(['init', '--with', 'find-regression']);
    const rows = (await repository.json(['trust', '--list'])) as { name: string; state: string }[];
    const open = rows.filter(({ state }) => state !== 'trusted').map(({ name }) => name);
    expect(open.toSorted()).toEqual(['agents.find-regression-pick', 'agents.find-regression-try', 'agents.other']);
  });
});

describe('at a terminal', () => {
  /** Runs uwf where stdin, stdout and stderr are a terminal, at which a person presses keys once they are asked. */
  async function atTerminal(
    { dir, user }: Pair,
    argv: readonly string[],
    keys: string,
  ): Promise<{ code: number; all: string }> {
    const env = { ...isolatedGitEnvironment, ...user, PAGER: 'cat' };
    const line = [process.execPath, join(root, 'bin/uwf.js'), ...argv].map((word) => `'${word}'`).join(' ');
    const child = spawn('script', ['-qec', line, '/dev/null'], { cwd: dir, env, timeout: 120_000 });
    let all = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      if (!all.includes('[y/N]') && (all + text).includes('[y/N]')) child.stdin.write(keys);
      all += text;
    });
    const [code] = (await once(child, 'close')) as [number | null];
    return { code: code ?? -1, all };
  }

  test('one key agrees to all of a command, once', async () => {
    const repository = createPair({ '.uwf/config.yaml': pairConfig({ snapshot: { mode: 'on' } }) });
    const first = await atTerminal(repository, run, 'y');
    expect(first.code, first.all).toBe(0);
    expect(first.all).toContain('config.argv: ["sh","one.sh"]');
    expect(first.all).toContain('config.argv: ["sh","two.sh"]');
    expect(first.all).toContain('snapshot.mode: "on"');
    expect(first.all).toContain('is not covered: a Makefile');
    expect(first.all.match(/\[y\/N\]/g)).toHaveLength(1);
    expect(ran(repository)).toEqual(['ran-one', 'ran-two']);
    expect((await atTerminal(repository, run, '')).all).not.toContain('[y/N]');
    expect(await outcome(repository)).toBe('ran');
  });

  test.each([
    ['another key', 'n', 6],
    ['Enter', '\r', 6],
    ['Ctrl-C', '\u0003', 130],
  ])('%s agrees to nothing', async (_, keys, code) => {
    const repository = createPair();
    expect(await atTerminal(repository, run, keys)).toMatchObject({ code });
    expect([ran(repository), refs(repository)]).toEqual([[], '']);
    expect(existsSync(`${repository.user['XDG_STATE_HOME']}/uwf/trust`)).toBe(false);
  });

  test('no key is asked for about more than a person reads', async () => {
    const one = { package: 'builtin:command', config: { argv: ['sh', '-c', 'x'.repeat(20_000)] } };
    const repository = createPair({ '.uwf/config.yaml': JSON.stringify({ agents: { one }, defaultAgent: 'one' }) });
    const result = await atTerminal(repository, run, 'y');
    expect(result.code, result.all).toBe(6);
    expect(result.all).toContain('it does not fit on a screen');
    expect(result.all).not.toContain('[y/N]');
  });

  test('a run in the background asks before it goes there', async () => {
    const repository = createPair();
    const result = await atTerminal(repository, [...run, '--background'], 'y');
    expect(result.code, result.all).toBe(0);
    expect(result.all).toContain('[y/N]');
    const [thread = ''] = /01[0-9A-Z]{24}/.exec(result.all) ?? [];
    expect(await atTerminal(repository, ['thread', 'join', thread], '')).toMatchObject({ code: 0 });
    expect(ran(repository)).toEqual(['ran-one', 'ran-two']);
  });
});
