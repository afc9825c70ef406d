import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseObjectId } from '../../../src/git/format/object-id.ts';
import { openRepository } from '../../../src/git/open-repository.ts';
import { formatIdentity, ownIdentity, packageRoot } from '../../../src/git/system/process-identity.ts';
import { parseThreadId } from '../../../src/thread/thread-id.ts';
import { rememberVerdict } from '../../../src/verify/remembered-verdicts.ts';
import { createCliRepository, createLoopRepository } from '../../helpers/cli.ts';
import { heldToPermissions } from '../../helpers/held-to-permissions.ts';
import { createTemporaryFolder, isolatedGitEnvironment } from '../../helpers/temporary-repository.ts';
import { rulesOf } from '../../helpers/plot.ts';

type Diagnosis = { code: string; level: string; message: string; hint: string };

/** A folder with a program `git` that says it is of this version, and does nothing else. */
function gitOfVersion(version: string): string {
  const folder = createTemporaryFolder();
  writeFileSync(join(folder, 'git'), `#!/bin/sh\necho git version ${version}\n`);
  chmodSync(join(folder, 'git'), 0o755);
  return folder;
}

describe('uwf doctor', () => {
  test('finds nothing where nothing is wrong', async () => {
    const { uwf } = createCliRepository({ '.uwf/config.yaml': 'agents: { me: { package: "builtin:human" } }\n' });
    expect(await uwf(['doctor'])).toMatchObject({ code: 0, stdout: '' });
  });

  test('names what is wrong with the repository', async () => {
    const { dir, git, uwf } = createCliRepository();
    git('config', 'gc.auto', '0');
    git('config', 'gc.pruneExpire', 'now');
    git('config', 'remote.origin.url', dir);
    writeFileSync(join(dir, '.git/shallow'), '');
    mkdirSync(join(dir, '.git/objects/pack'), { recursive: true });
    for (let i = 0; i < 102; i += 1)
      writeFileSync(join(dir, `.git/objects/pack/pack-${i >> 1}.${i % 2 === 0 ? 'idx' : 'pack'}`), '');
    const tip = git('commit-tree', git('mktree'), '-m', 'x');
    // The clock of whoever started it is centuries ahead; another thread is old.
    git('update-ref', 'refs/threads/1ZZZZZZZZZ0000000000000000', tip);
    git('update-ref', 'refs/threads/01HF7YAT000000000000000000', tip);
    const found = JSON.parse((await uwf(['doctor', '--json'])).stdout) as Diagnosis[];
    expect(found.map(({ code }) => code)).toEqual([
      'prunes-at-once',
      'clock-off',
      'shallow-clone',
      'gc-disabled',
      'many-packs',
      'not-pushed',
    ]);
    expect((await uwf(['doctor'])).code).toBe(1);
  });

  test('names locks and keeps of processes that are not at work here, and removes none', async () => {
    const { dir, git, uwf } = createCliRepository();
    const elsewhere = formatIdentity({ ...ownIdentity(), host: 'elsewhere', bootId: 'ab'.repeat(16), pid: 4711 });
    git('update-ref', 'refs/threads/a', git('commit-tree', git('mktree'), '-m', 'x'));
    const files = {
      'refs/threads/a.lock': '',
      'packed-refs.lock': '',
      'objects/pack/pack-1.keep': `uwf ${elsewhere}\n`,
      'objects/pack/pack-2.keep': 'fetch-pack 4711 on elsewhere\n',
      'objects/pack/pack-3.keep': 'mine\n',
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, '.git', name), text);
    const found = JSON.parse((await uwf(['doctor', '--json'])).stdout) as Diagnosis[];
    const told = (name: string): string => {
      const one = found.find(({ message }) => message.includes(`${name} `));
      return one === undefined ? '' : `${one.level} ${one.message} ${one.hint}`;
    };
    expect(told('a.lock')).toMatch(/^problem .*git made it.*remove it/);
    expect(told('packed-refs.lock')).toMatch(/^problem .*git made it/);
    expect(told('pack-1.keep')).toMatch(/^warning .*process 4711 of uwf on elsewhere/);
    expect(told('pack-2.keep')).toMatch(/^warning .*git's/);
    expect(told('pack-3.keep')).toBe('');
    for (const name of Object.keys(files)) expect(existsSync(join(dir, '.git', name))).toBe(true);
  });

  test('names what is wrong with git', async () => {
    const { uwf } = createCliRepository();
    const codes = async (path: string): Promise<string[]> => {
      const { stdout } = await uwf(['doctor', '--json'], { env: { PATH: path } });
      return (JSON.parse(stdout) as Diagnosis[]).map(({ code }) => code);
    };
    expect(await codes(gitOfVersion('2.30.2'))).toEqual(['git-too-old']);
    expect(await codes(gitOfVersion('3.0'))).toEqual([]);
    expect(await codes(createTemporaryFolder())).toEqual(['git-missing']);
  });

  test('names agents that cannot work, and a configuration that anybody can change', async () => {
    const { dir, uwf } = createCliRepository({
      '.uwf/config.yaml': `agents:
  gone: { package: "builtin:command", config: { argv: [no-such-program-here] } }
  here: { package: "builtin:command", config: { argv: [sh, -c, "true"] } }
  missing: { package: "no-such-package" }
`,
    });
    chmodSync(join(dir, '.uwf/config.yaml'), 0o666);
    const { stdout } = await uwf(['doctor', '--json'], { env: isolatedGitEnvironment });
    const found = JSON.parse(stdout) as Diagnosis[];
    expect(found.map(({ code }) => code)).toEqual(['dubious-ownership', 'agent-not-found', 'agent-broken']);
    expect(found[1]?.message).toContain("'no-such-program-here'");
  });

  test('warns of a coding agent whose model may answer its own questions, and so does agent show', async () => {
    const config = JSON.stringify({ command: [join(gitOfVersion('3.0'), 'git'), 'qwen'] });
    const { uwf } = createCliRepository({
      '.uwf/config.yaml': `agents: { mine: { package: "builtin:acp", config: ${config} } }\n`,
    });
    const doctor = await uwf(['doctor', '--json'], { env: isolatedGitEnvironment });
    expect(doctor.code).toBe(0);
    const found = JSON.parse(doctor.stdout) as Diagnosis[];
    expect(found).toEqual([expect.objectContaining({ level: 'warning', code: 'agent-without-mode' })]);
    const show = await uwf(['agent', 'show', 'mine'], { env: isolatedGitEnvironment });
    expect(show.stderr).toContain("agent 'mine' has no 'mode'");
    expect(show.stderr).toContain('mode: default');
  });

  test('names limits of the configuration and of workflows that do not hold for an agent', async () => {
    const coder = { package: 'builtin:llm', config: { baseUrl: 'http://127.0.0.1:1/v1', model: 'm' } };
    const spender = { ...coder, price: { inputPerMTok: 1, outputPerMTok: 1 } };
    const role = { schema: { properties: { $status: { const: 'done' } }, required: ['$status'] } };
    const dear = (limits: object): string =>
      JSON.stringify({
        name: 'dear',
        limits,
        roles: { coder: { ...role, limits: { maxCostUsd: 1 } }, spender: role, tester: role },
        moderator: rulesOf('coder > spender > tester > end'),
      });
    const config = (limits: object): string =>
      JSON.stringify({
        agents: { coder, spender, tester: me },
        roles: { coder: 'coder', spender: 'spender', tester: 'tester' },
        limits,
      });
    const me = { package: 'builtin:human' };
    const diagnosesOf = async (limits: object, ofWorkflow: object): Promise<Diagnosis[]> => {
      const { uwf } = createCliRepository({
        '.uwf/config.yaml': config(limits),
        '.uwf/workflows/dear.yaml': dear(ofWorkflow),
      });
      return JSON.parse((await uwf(['doctor', '--json'])).stdout) as Diagnosis[];
    };
    const code = 'limit-unkept';
    const message = "agent 'coder' reports no cost and has no price, so maxCostUsd does not hold for it";
    const hint = expect.stringContaining('add a price to agents.coder') as string;
    expect(await diagnosesOf({ maxCostUsd: 5, maxTokens: 9 }, { maxSteps: 9 })).toEqual([
      { code, level: 'warning', message, hint },
    ]);
    expect(await diagnosesOf({ maxTokens: 9 }, { unknownUsage: 'refuse' })).toEqual([
      { code, level: 'problem', message: `${message} in dear.coder`, hint },
    ]);
  });

  test.each(['/dev/zero', 'config.yaml'])('proposes nothing for what a link to %s leads to', async (target) => {
    const { dir, uwf } = createCliRepository({ '.uwf/workflows/.keep': '' });
    symlinkSync(target, join(dir, '.uwf/config.yaml'));
    const { code, stdout } = await uwf(['doctor', '--json'], { env: isolatedGitEnvironment });
    expect(code).toBe(1);
    expect((JSON.parse(stdout) as Diagnosis[]).map((one) => one.code)).toEqual(['config-broken']);
  });

  test('names a configuration with mistakes', async () => {
    const { uwf } = createCliRepository({ '.uwf/config.yaml': 'agnets: {}\n' });
    expect(await uwf(['doctor'])).toMatchObject({ code: 1, stdout: expect.stringContaining("did you mean 'agents'") });
  });
});

test('a damaged lease is named, and so is a thread that another command has found corrupt', async () => {
  const { dir, git, lines, uwf } = createLoopRepository();
  await lines(['run', 'loop', '-p', 'Write.']);
  const [id = '', head = ''] = git('for-each-ref', '--format=%(refname:lstrip=-1) %(objectname)', 'refs/history').split(
    ' ',
  );
  const place = { id: parseThreadId(id), head: parseObjectId(head) };
  rememberVerdict(await openRepository(dir), place, 'its start is away', new Set());
  mkdirSync(join(dir, '.git/uwf/leases'), { recursive: true });
  writeFileSync(join(dir, `.git/uwf/leases/${id}.json`), 'garbage');
  const found = JSON.parse((await uwf(['doctor', '--json'])).stdout) as Diagnosis[];
  expect(found).toMatchObject([
    { code: 'broken-ref', message: expect.stringContaining('its start is away') },
    { code: 'lease-damaged' },
  ]);
});

test('a thread whose ref is at no commit is named, and what is said of removing it works', async () => {
  const repository = createLoopRepository({ writer: [], checker: [] });
  const thread = await repository.start('loop', 'x');
  const blob = repository.git('hash-object', '-w', join(repository.dir, '.uwf', 'config.yaml'));
  writeFileSync(join(repository.dir, '.git', 'refs', 'threads', thread), `${blob}\n`);
  const { code, stdout } = await repository.uwf(['doctor']);
  expect(code).toBe(1);
  expect(stdout).toContain(`refs/threads/${thread} is broken: object ${blob} is corrupt: it is a blob, not a commit`);
  const { stderr } = await repository.uwf(['thread', 'rm', thread]);
  expect(stderr).toContain('--force');
  expect(stderr).not.toContain('cancel');
  expect(await repository.uwf(['thread', 'rm', thread, '--force'])).toMatchObject({ code: 0 });
});

test('names the variables of secrets that are too short to be taken out, and no value', async () => {
  const repository = createLoopRepository();
  const env = { DB_PASSWORD: 'hunter2-x', API_TOKEN: 'long-enough-9fK2-vvQ', DEBUG_AUTH: 'false' };
  const { stdout } = await repository.uwf(['doctor', '--json'], { env });
  const found = (JSON.parse(stdout) as Diagnosis[]).find(({ code }) => code === 'secret-too-short');
  expect(found).toMatchObject({ level: 'warning', message: expect.stringMatching(/: DB_PASSWORD$/u) });
  expect(stdout).not.toContain('hunter2');
});

test('names bindings to what does not exist, and variables that are not set', async () => {
  const flow = (name: string, role: string): string =>
    `name: ${name}\nroles:\n  ${role}: { goal: work, schema: { properties: { $status: { const: done } } } }\nmoderator: [{ from: __start__, to: ${role} }, { from: ${role}, to: __end__ }]\n`;
  const { dir, git, uwf, write } = createCliRepository({
    '.uwf/workflows/flow.yaml': flow('flow', 'tester'),
    '.uwf/workflows/v2.flow.yaml': flow('v2.flow', 'dotted.role'),
    '.uwf/workflows/stored.yaml': flow('stored', 'writer'),
    '.uwf/config.yaml': `agents:
  me: { package: "builtin:human" }
  child: { package: "builtin:workflow", config: { workflow: stord } }
  model: { package: "builtin:llm", config: { baseUrl: "http://localhost:1/v1", model: m, apiKeyEnv: NO_KEY, tools: [runCommand], runCommand: { passEnv: [NO_VARIABLE, HOME] } } }
roles:
  tester: me
  flow.tester: me
  v2.flow.dotted.role: me
  stored.writer: me
  nosuchworkflow.role: me
  flwo.tester: me
  flow.testre: me
  tseter: me
`,
  });
  await uwf(['workflow', 'add', 'stored']);
  unlinkSync(join(dir, '.uwf/workflows/stored.yaml'));
  const config = createTemporaryFolder();
  mkdirSync(join(config, 'uwf'));
  // What the user's own file binds may be another repository's.
  writeFileSync(
    join(config, 'uwf/config.yaml'),
    'agents: { own: { package: "builtin:human" } }\nroles: { other.x: own }\n',
  );
  const doctor = async (env: Record<string, string> = {}): Promise<string[]> => {
    const { stdout } = await uwf(['doctor', '--json'], { env: { XDG_CONFIG_HOME: config, HOME: '/', ...env } });
    return (JSON.parse(stdout) as Diagnosis[]).map((one) => `${one.level} ${one.code} ${one.message} ${one.hint}`);
  };
  const place = join(dir, '.uwf/config.yaml');
  expect(await doctor()).toEqual([
    expect.stringMatching(/^problem variable-not-set agent 'model' .* NO_KEY \(apiKeyEnv\).*export NO_KEY=/),
    expect.stringMatching(/^problem workflow-not-found agent 'child' .*'stord'.* did you mean 'stored'\?$/),
    expect.stringMatching(/^warning variable-not-set agent 'model' .* NO_VARIABLE \(passEnv\)/),
    expect.stringContaining(`${place}:10:24: roles.nosuchworkflow.role binds what is not there: there is no workflow`),
    expect.stringMatching(/there is no workflow 'flwo' did you mean 'flow\.tester'\?$/),
    expect.stringMatching(/workflow 'flow' has no role 'testre' did you mean 'flow\.tester'\?$/),
    expect.stringMatching(/no workflow here has a role 'tseter' did you mean 'tester'\?$/),
  ]);
  expect((await doctor({ NO_KEY: 'k', NO_VARIABLE: '' })).join('\n')).not.toContain('variable-not-set');

  // A role may be one of a workflow that does not load.
  write('.uwf/workflows/flow.yaml', 'name: flow\nroles: 3\n');
  git('update-ref', 'refs/workflows/foreign', git('commit-tree', git('mktree'), '-m', 'x'));
  const found = (await doctor()).join('\n');
  expect(found).toMatch(
    /^problem registration-refused refs\/workflows\/foreign does not load: .*'uwf workflow rm foreign'$/m,
  );
  expect(found).toMatch(/^problem workflow-broken .*flow\.yaml has .*'uwf workflow validate flow'$/m);
  expect(found).not.toMatch(/roles\.(tester|tseter|flow\.testre) /);
});

test('names a workflow that a branch of a block runs and that is not there', async () => {
  const { uwf, write } = createCliRepository();
  const file = (name: string, workflow: string): string => `name: ${name}
roles: { critic: { schema: {} } }
blocks: { reviews: { isolation: shared, branches: { a: { workflow: ${workflow} }, b: { role: critic } }, join: all } }
moderator: [{ from: __start__, to: reviews }, { from: reviews, to: __end__ }]
`;
  write('.uwf/workflows/outer.yaml', file('outer', 'inner'));
  write('.uwf/workflows/inner.yaml', file('inner', 'iner'));
  const { stdout } = await uwf(['doctor', '--json']);
  const found = JSON.parse(stdout) as Diagnosis[];
  expect(found.filter(({ code }) => code === 'workflow-not-found')).toMatchObject([
    {
      level: 'problem',
      message: "block 'reviews' of workflow 'inner' runs the workflow 'iner', which is not there",
      hint: "did you mean 'inner'?",
    },
  ]);
});

test('a repository that cannot be written is a problem', () => {
  const { dir } = createCliRepository();
  chmodSync(join(dir, '.git/objects'), 0o555);
  const [word, ...words] = [
    ...heldToPermissions,
    process.execPath,
    join(packageRoot(), 'bin/uwf.js'),
    'doctor',
    '--json',
  ];
  const { status, stdout } = spawnSync(word, words, { cwd: dir, env: isolatedGitEnvironment, encoding: 'utf8' });
  expect({ status, found: JSON.parse(stdout) }).toMatchObject({
    status: 1,
    found: [{ code: 'not-writable', message: expect.stringContaining(`${dir}/.git/objects (EACCES)`) }],
  });
});
