import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

import { checkAgent } from '../../../src/agent/load/load-agent.ts';
import { bindingFor, getBinding, loadConfig } from '../../../src/engine/config/config.ts';
import type { Config } from '../../../src/engine/config/config.ts';
import { ConfigInvalid, ConfigUnreadable } from '../../../src/engine/config/config-schema.ts';
import type { Repository } from '../../../src/git/repository.ts';
import { temporaryFolder } from '../../helpers/agent-request.ts';

const fixtures = resolve(import.meta.dirname, '../../../fixtures');

/** A repository as far as configuration goes: its folders, with the two files as given. */
function repositoryWith(files: { shared?: string; machine?: string; isBare?: boolean }): Repository & { top: string } {
  const top = temporaryFolder();
  const stateDir = join(top, '.git', 'uwf');
  const write = (folder: string, text: string | undefined): void => {
    if (text === undefined) return;
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'config.yaml'), text);
  };
  write(join(top, '.uwf'), files.shared);
  write(stateDir, files.machine);
  const workTree = files.isBare === true ? undefined : top;
  const location = { gitDir: join(top, '.git'), commonDir: join(top, '.git'), workTree };
  // Configuration is files: the stores are not looked at.
  return { top, location, stateDir } as Repository & { top: string };
}

function load(shared: string, machine?: string): Promise<Config> {
  return loadConfig(repositoryWith({ shared, ...(machine !== undefined && { machine }) }));
}

/** The mistakes in a shared file, each as `line:column message`. */
async function mistakesIn(shared: string): Promise<string[]> {
  const error: unknown = await load(shared).catch((caught: unknown) => caught);
  if (!(error instanceof ConfigInvalid)) throw new Error(`no mistake was found: ${String(error)}`);
  return error.mistakes.map(({ line, column, message }) => `${line}:${column} ${message}`);
}

const shared = `
agents:
  claude: { package: "builtin:command", config: { argv: [claude, -p] } }
  tests: { package: "builtin:command", config: { argv: [npm, test], statuses: { 0: passed, default: failed } } }
  mine: { package: "uwf-agent-mine", version: "^1.2.0" }
defaultAgent: claude
roles:
  develop.tester: tests
limits: { maxSteps: 100, idleTimeoutMs: 600000, maxParallelThreads: 4 }
context: { maxCharacters: 9000 }
`;

test('without any file nothing is configured', async () => {
  expect(await loadConfig(repositoryWith({}))).toEqual({ agents: {}, roles: {}, limits: {}, context: {} });
});

test.each(['', '# nothing yet\n', '---\n'])('a file that says nothing configures nothing: %j', async (source) => {
  expect(await load(source)).toEqual({ agents: {}, roles: {}, limits: {}, context: {} });
});

test('a file says which agents there are, which roles they do, and limits', async () => {
  const repository = repositoryWith({ shared });
  const file = join(repository.top, '.uwf/config.yaml');
  expect(await loadConfig(repository)).toEqual({
    agents: {
      claude: {
        name: 'claude',
        package: 'builtin:command',
        config: { argv: ['claude', '-p'] },
        declaredAt: `${file}:3:3`,
      },
      tests: {
        name: 'tests',
        package: 'builtin:command',
        config: { argv: ['npm', 'test'], statuses: { '0': 'passed', default: 'failed' } },
        declaredAt: `${file}:4:3`,
      },
      mine: { name: 'mine', package: 'uwf-agent-mine', version: '^1.2.0', config: {}, declaredAt: `${file}:5:3` },
    },
    defaultAgent: 'claude',
    roles: { 'develop.tester': 'tests' },
    rolesHere: { 'develop.tester': { file, line: 8, column: 19 } },
    limits: { maxSteps: 100, idleTimeoutMs: 600_000, maxParallelThreads: 4 },
    context: { maxCharacters: 9000 },
  });
});

test('JSON is read as well', async () => {
  expect(await load('{"agents": {"me": {"package": "builtin:human"}}}')).toHaveProperty(
    'agents.me.package',
    'builtin:human',
  );
});

test('anchors and aliases may be used', async () => {
  const config = await load('agents:\n  a: &a { package: "builtin:human" }\n  b: *a\n');
  expect(config.agents['b']).toMatchObject({ name: 'b', package: 'builtin:human' });
});

describe("the machine's file", () => {
  test('wins by agent, by role, by limit and for the default', async () => {
    const config = await load(
      shared,
      'agents: { tests: { package: "builtin:human" } }\ndefaultAgent: mine\nroles: { develop.coder: tests }\nlimits: { maxSteps: 5 }\n',
    );
    expect(config.agents['tests']).toMatchObject({ package: 'builtin:human', config: {} });
    expect(config.agents['claude']).toBeDefined();
    expect(config.defaultAgent).toBe('mine');
    expect(config.roles).toEqual({ 'develop.tester': 'tests', 'develop.coder': 'tests' });
    expect(config.limits).toEqual({ maxSteps: 5, idleTimeoutMs: 600_000, maxParallelThreads: 4 });
  });

  test('may declare the agents that the shared file names', async () => {
    const config = await load('defaultAgent: me\n', 'agents: { me: { package: "builtin:human" } }\n');
    expect(bindingFor(config, 'any', 'role')).toHaveProperty('name', 'me');
  });

  test('is all that a bare repository has', async () => {
    const machine = 'agents: { me: { package: "builtin:human" } }\n';
    const config = await loadConfig(repositoryWith({ shared, machine, isBare: true }));
    expect(Object.keys(config.agents)).toEqual(['me']);
  });
});

describe("the user's own file", () => {
  function userFolder(text: string): { userFolder: string } {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'config.yaml'), text);
    return { userFolder: folder };
  }

  test('lies below both others, by agent, by role, by limit and for the default', async () => {
    const own = userFolder(`
agents:
  tests: { package: "builtin:human" }
  me: { package: "builtin:human" }
defaultAgent: me
roles: { develop.tester: me, develop.reviewer: me }
limits: { maxSteps: 1, maxVisits: 7 }
foldPacks: false
`);
    const config = await loadConfig(repositoryWith({ shared, machine: 'roles: { develop.coder: me }' }), own);
    expect(config.agents['tests']).toMatchObject({ package: 'builtin:command' });
    expect(config.agents['me']).toMatchObject({ package: 'builtin:human' });
    expect(config).toMatchObject({ defaultAgent: 'claude', foldPacks: false });
    expect(config.roles).toEqual({ 'develop.tester': 'tests', 'develop.reviewer': 'me', 'develop.coder': 'me' });
    expect(config.limits).toEqual({ maxSteps: 100, maxVisits: 7, idleTimeoutMs: 600_000, maxParallelThreads: 4 });
  });

  test("is told from the repository's: an agent of both is the repository's", async () => {
    const own = userFolder('agents: { tests: { package: "builtin:human" }, me: { package: "builtin:human" } }');
    const { agents } = await loadConfig(repositoryWith({ shared }), own);
    expect(agents['me']?.isUsersOwn).toBe(true);
    expect(agents['tests']?.isUsersOwn).toBeUndefined();
    expect(agents['claude']?.isUsersOwn).toBeUndefined();
  });

  test('is all there is where a repository has no file', async () => {
    const config = await loadConfig(
      repositoryWith({ isBare: true }),
      userFolder('defaultAgent: me\nagents: { me: { package: "builtin:human" } }'),
    );
    expect(bindingFor(config, 'any', 'role')).toHaveProperty('name', 'me');
  });
});

describe('what a person has to agree to beside agents', () => {
  test('is each key that may let data out, of either file, with its place', async () => {
    const repository = repositoryWith({
      shared: `${shared}snapshot: { mode: on }\n`,
      machine: 'snapshot: { maxBytes: 9 }',
    });
    expect((await loadConfig(repository)).settings).toEqual([
      { name: 'snapshot', value: { mode: 'on' }, declaredAt: `${repository.top}/.uwf/config.yaml:11:1` },
      { name: 'snapshot', value: { maxBytes: 9 }, declaredAt: `${repository.stateDir}/config.yaml:1:1` },
    ]);
  });

  test('is nothing of limits, bindings and the like', async () => {
    expect(await load(`${shared}foldPacks: false\n`)).not.toHaveProperty('settings');
  });
});

const shipped = readdirSync(fixtures, { recursive: true, encoding: 'utf8' }).filter((path) =>
  path.endsWith('/config.yaml'),
);

test.each(shipped)('the configuration %s is good, to its last agent', async (file) => {
  const text = readFileSync(join(fixtures, file), 'utf8');
  // The first configuration of a repository has its lines as comments, behind an empty one.
  const [, commented] = /^#\n((?:# .*\n)+)/mu.exec(text) ?? [];
  const config = await load(commented?.replaceAll(/^# /gmu, '') ?? text);
  for (const binding of Object.values(config.agents)) {
    await expect(checkAgent(binding, { resolveFrom: fixtures })).resolves.toHaveProperty('record.name', binding.name);
  }
  expect(Object.keys(config.agents)).not.toEqual([]);
});

describe('a mistake has its place and says what was meant', () => {
  test.each([
    ['agnets: {}', ["1:1 the configuration has no key 'agnets'; did you mean 'agents'?"]],
    [
      'agents:\n  a: { pakage: "builtin:human" }',
      [
        "2:3 agent 'a' lacks 'package'; such as 'package: \"builtin:command\"'",
        "2:8 agent 'a' has no key 'pakage'; did you mean 'package'?",
      ],
    ],
    ['agents:\n  a: { package: 7 }', ["2:17 'package' of agent 'a' must be a text, not 7"]],
    ['agents:\n  a: builtin:human', ["2:6 agent 'a' must be a map, not 'builtin:human'"]],
    ['agents:\n  a: { package: x, config: [] }', ["2:28 'config' of agent 'a' must be a map, not an empty list"]],
    ['agents: []', ["1:9 'agents' must be a map, not an empty list"]],
    [
      'limits: { maxSteps: 0, timeoutMs: soon, maxVisits: 1.5 }',
      [
        "1:21 'limits.maxSteps' must be a whole number from 1, not 0",
        "1:35 'limits.timeoutMs' must be a whole number from 1, not 'soon'",
        "1:52 'limits.maxVisits' must be a whole number from 1, not 1.5",
      ],
    ],
    ['limits: { maxStep: 1 }', ["1:11 'limits' has no key 'maxStep'; did you mean 'maxSteps'?"]],
    [
      'agents: { tests: { package: x } }\nroles:\n  tester: test',
      ["3:11 roles.tester names the agent 'test', which is not configured; did you mean 'tests'?"],
    ],
    ['defaultAgent: claude', ["1:15 defaultAgent names the agent 'claude', which is not configured; there is none"]],
    // The agent is missing only because of the mistake in it.
    [
      'agents: { a: { pakage: x, package: y } }\ndefaultAgent: b',
      ["1:16 agent 'a' has no key 'pakage'; did you mean 'package'?"],
    ],
    ['- agents', ['1:1 the configuration must be a map, not a list']],
    [
      'agents: [x',
      [
        '1:11 flow sequence in block collection must be sufficiently indented and end with a ]; line it up with its neighbours',
      ],
    ],
    ['limits: !include limits.yaml', ["1:18 !include: 'limits.yaml' cannot be included here"]],
    ['limits: { maxSteps: *most }', ['1:11 there is no anchor &most before *most']],
    ['limits: !other {}', ['1:9 unresolved tag: !other']],
    ['agents: {}\nagents: {}', ['2:1 this key stands here twice']],
  ])('%j', async (source, mistakes) => {
    expect(await mistakesIn(source)).toEqual(mistakes);
  });

  test('all mistakes of both files come at once, as file:line:column', async () => {
    const repository = repositoryWith({ shared: 'agnets: {}\n', machine: 'role: {}\nlimits: 3\n' });
    await expect(loadConfig(repository)).rejects.toMatchObject({
      code: 'config-invalid',
      message: [
        `${repository.top}/.uwf/config.yaml:1:1: the configuration has no key 'agnets'; did you mean 'agents'?`,
        `${repository.stateDir}/config.yaml:1:1: the configuration has no key 'role'; did you mean 'roles'?`,
        `${repository.stateDir}/config.yaml:2:9: 'limits' must be a map, not 3`,
      ].join('\n'),
    });
  });
});

test('a file that cannot be read is not taken for one that is not there', async () => {
  const repository = repositoryWith({});
  mkdirSync(join(repository.top, '.uwf/config.yaml'), { recursive: true });
  await expect(loadConfig(repository)).rejects.toThrow(ConfigUnreadable);
});

test.each([
  ['a device', '/dev/zero', 'lies outside'],
  ['a file that only root may read', '/etc/shadow', 'lies outside'],
  ['the git folder', '../.git/uwf/config.yaml', 'lies in a git folder'],
])('a shared file that is a link to %s is refused, and nothing of it said', async (_name, target, reason) => {
  const repository = repositoryWith({ machine: 'secret words' });
  mkdirSync(join(repository.top, '.uwf'));
  symlinkSync(target, join(repository.top, '.uwf/config.yaml'));
  const error: unknown = await loadConfig(repository).catch((caught: unknown) => caught);
  expect(error).toMatchObject({ code: 'config-unreadable', message: expect.stringContaining(reason) });
  expect(String(error)).not.toMatch(/secret|root:/);
});

test('a folder of configuration that is a link out of the work tree is not read', async () => {
  const repository = repositoryWith({});
  const other = temporaryFolder();
  writeFileSync(join(other, 'config.yaml'), shared);
  symlinkSync(other, join(repository.top, '.uwf'));
  await expect(loadConfig(repository)).rejects.toThrow('lies outside');
});

test("this machine's file is no link: a git folder may come from elsewhere", async () => {
  const repository = repositoryWith({ shared });
  const other = join(temporaryFolder(), 'config.yaml');
  writeFileSync(other, 'secret: words');
  mkdirSync(join(repository.top, '.git/uwf'), { recursive: true });
  symlinkSync(other, join(repository.top, '.git/uwf/config.yaml'));
  await expect(loadConfig(repository)).rejects.toThrow(/uwf\/config\.yaml cannot be read: it is a link/);
});

test('a configuration of more than 64 KiB is not read', async () => {
  await expect(load(`# ${'x'.repeat(65_535)}`)).rejects.toThrow('has more than 65536 bytes');
});

test('aliases stand for what they name, and `<<` merges it in', async () => {
  const config = await load(
    'agents:\n  a: &a { package: x, config: { b: [1] } }\n  c: { <<: *a, package: y }\n  d: *a\n',
  );
  const agent = { config: { b: [1] }, declaredAt: expect.any(String) };
  expect(config.agents).toMatchObject({
    c: { ...agent, name: 'c', package: 'y' },
    d: { ...agent, name: 'd', package: 'x' },
  });
});

test('aliases that would fill the memory are a mistake', async () => {
  const lists = 'bcdefghij'.split('').map((name, at) => `&${name} [${`*${'abcdefghij'[at]},`.repeat(10)}]`);
  const source = `agents: { x: { package: y, config: { z: [&a x, ${lists.join(', ')}] } } }`;
  expect(await mistakesIn(source)).toContainEqual(expect.stringContaining('once its aliases are written out'));
});

describe('the agent of a role', () => {
  const agents = Object.fromEntries(['one', 'two', 'three'].map((name) => [name, { name, package: 'x', config: {} }]));
  const config: Config = { agents, roles: { 'develop.tester': 'one', tester: 'two' }, defaultAgent: 'three' };

  test.each([
    ['develop', 'tester', 'one'],
    ['other', 'tester', 'two'],
    ['develop', 'coder', 'three'],
    ['develop', 'constructor', 'three'],
  ])('%s.%s is %s', (workflow, role, name) => {
    expect(getBinding(config, workflow, role).name).toBe(name);
  });

  test('that has none is named, with the lines to add', () => {
    const { defaultAgent: _, ...without } = config;
    expect(bindingFor(without, 'develop', 'coder')).toBeUndefined();
    expect(() => getBinding(without, 'develop', 'coder')).toThrow(
      expect.objectContaining({
        code: 'agent-missing',
        kind: 'agent',
        message: expect.stringMatching(/'coder'.*'develop'/u),
        hint: expect.stringContaining('roles:\n  develop.coder: me'),
      }),
    );
  });
});

test('whether packs are folded is said by either file, the one of this machine winning', async () => {
  expect(await load('foldPacks: true', 'foldPacks: false')).toMatchObject({ foldPacks: false });
  expect(await mistakesIn('foldPacks: never')).toEqual(["1:12 'foldPacks' must be true or false, not 'never'"]);
});

describe('how the files of steps are kept', () => {
  test('is said by either file, the one of this machine winning', async () => {
    const config = await load('snapshot: { mode: on, maxBytes: 1000 }', 'snapshot: { mode: changed, timeoutMs: 500 }');
    expect(config.snapshot).toEqual({ mode: 'changed', maxBytes: 1000, timeoutMs: 500 });
    expect(await mistakesIn('snapshot: { mode: always, maxBytes: -1 }')).toEqual([
      "1:19 'snapshot.mode' must be 'off', 'on' or 'changed', not 'always'",
      "1:37 'snapshot.maxBytes' must be a whole number from 1, not -1",
    ]);
  });
});

describe('redact', () => {
  const hash = `0a:${'1'.repeat(64)}`;

  test('rules and what is allowed come from all files, off only from the own ones', async () => {
    const shared = `redact: { rules: [{ name: acme-token, pattern: 'acme_[a-z]{8}' }] }`;
    const machine = `redact: { allow: [{ rule: acme-token, path: 'test/**' }, { hash: "${hash}" }] }`;
    expect((await load(shared, machine)).redact).toEqual({
      isOff: false,
      rules: [{ name: 'acme-token', pattern: 'acme_[a-z]{8}' }],
      allow: [{ rule: 'acme-token', path: 'test/**' }, { hash }],
    });
    expect((await load(shared, 'redact: off')).redact).toMatchObject({ isOff: true });
    expect(await mistakesIn('limits: {}\nredact: off\n')).toEqual([
      "2:1 redact: off stands in a user's or a machine's own configuration only",
    ]);
  });

  test.each([
    ['on', "1:9 'redact' must be 'off', or a map of 'rules' and 'allow', not 'on'"],
    ['{ rule: [] }', "1:11 'redact' has no key 'rule'; did you mean 'rules'?"],
    ['{ rules: {} }', "1:18 'redact.rules' must be a list, not an empty map"],
    ['{ rules: [{ name: x }] }', "1:19 'redact.rules[0]' lacks 'pattern'"],
    ['{ rules: [{ name: "a:b", pattern: x }] }', "1:27 'redact.rules[0].name' is no name such as acme-token: 'a:b'"],
    ['{ rules: [{ name: x, pattern: "(" }] }', "1:39 the pattern of redact rule 'x' cannot be used: Invalid"],
    ['{ rules: [{ name: x, pattern: ".*" }] }', "1:39 the pattern of redact rule 'x' matches an empty text"],
    [
      '{ allow: [{ hash: "abc" }] }',
      "1:27 'redact.allow[0].hash' must be '<salt>:<SHA-256>' in hexadecimal, not 'abc'",
    ],
    ['{ allow: [{ rule: "abc" }] }', "1:19 'redact.allow[0]' must have a rule and a path, or a hash"],
    ['{ allow: [{ rule: a, path: b, hash: c }] }', "1:19 'redact.allow[0]' must have a rule and a path, or a hash"],
  ])('%s is a mistake', async (redact, message) => {
    const [mistake] = await mistakesIn(`redact: ${redact}`);
    expect(mistake).toContain(message);
  });
});
