import { chmodSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { allWritten, formsOf, placesOf } from '../helpers/all-written.ts';
import { createCliRepository, type CliRepository, type CommandResult } from '../helpers/cli.ts';
import { startModelServer } from '../helpers/model-server.ts';
import { createTemporaryFolder } from '../helpers/temporary-repository.ts';

/** Each is known from another place. */
const secrets = {
  DEPLOY_TOKEN: 'dT7#kw20/plover+x9=Qz',
  PASSED: 'pS3$mv81_quillon-y4.Rw',
  MODEL_KEY: 'mK5!nb62/wabble+z1=Tv',
  inner: 'iN9%jh43_thrush-w6.Uy',
  remote: 'rM1^gf54~xylem-v8.Sx',
  header: 'hD8&ds65/zither+u2=Pw',
};
const values = Object.values(secrets);

const workflow = `name: w
description: all kinds of agents
roles:
  shell: { description: s, systemPrompt: Work., schema: { type: object, properties: { $status: { enum: [done] }, note: { type: string } }, required: [$status] } }
  model: { description: m, systemPrompt: Work., schema: { type: object, properties: { $status: { enum: [done] } }, required: [$status] } }
  person: { description: p, systemPrompt: Work., schema: { type: object, properties: { $status: { enum: [done] } }, required: [$status] } }
moderator:
  - { from: __start__, to: shell, when: null }
  - { from: shell, to: model, when: null }
  - { from: model, to: person, when: null }
  - { from: person, to: __end__, when: null, prompt: 'It was {{ steps[0].meta.note }}.' }
`;

const program = resolve(import.meta.dirname, '../../bin/uwf.js');

/** Says all that it has, in every way that a program can, and is asked twice. */
function shellAgent(form: string): string {
  return `
const { execFileSync } = require('node:child_process');
const { writeFileSync, mkdirSync } = require('node:fs');
const { join } = require('node:path');
const forms = ${formsOf.toString()};
const said = [${JSON.stringify(secrets.remote)}, ${JSON.stringify(secrets.header)}, process.env.DEPLOY_TOKEN,
  process.env.PASSED, process.env.MODEL_KEY, process.env.INNER_SECRET].map((value) => forms(value)[${JSON.stringify(form)}]).join(' ');
const again = join(${JSON.stringify('__flag__')}, 'again');
writeFileSync(join(process.env.UWF_STEP_DIR, 'notes'), said);
for (const text of [said, ...said.split(' ')]) {
  execFileSync(process.execPath, [${JSON.stringify(program)}, 'cas', 'put', text, '--title', 'a ' + text], { stdio: 'ignore' });
}
execFileSync(process.execPath, [${JSON.stringify(program)}, 'cas', 'put', '-', '--type', 'content'], { input: JSON.stringify({ text: said }), stdio: ['pipe', 'ignore', 'ignore'] });
process.stderr.write('I say ' + said + '\\n');
let isAgain = true;
try { writeFileSync(again, '', { flag: 'wx' }); isAgain = false; } catch {}
if (!isAgain) { process.stdout.write(said); process.exitCode = 3; }
else process.stdout.write('---\\n$status: done\\nnote: ' + JSON.stringify(said) + '\\n---\\n# ' + said + '\\n\\nIt is ' + said + '\\n');
`;
}

async function createScene(form: string): Promise<{ repository: CliRepository; env: Record<string, string> }> {
  const said = values.map((value) => formsOf(value)[form]).join(' ');
  const { url } = await startModelServer([
    {
      thought: `I think ${said}`,
      text: `I look at ${said}`,
      calls: [{ name: 'list_files', arguments: { path: said } }],
    },
    { text: `---\n$status: done\n---\nThe model says ${said}\n` },
  ]);
  const folder = createTemporaryFolder();
  const agents = {
    shell: {
      package: 'builtin:command',
      config: { argv: ['node', 'agent.cjs'], env: { INNER_SECRET: secrets.inner }, retryOnExit: [3], answers: true },
    },
    model: { package: 'builtin:llm', config: { baseUrl: url, model: 'm', apiKeyEnv: 'MODEL_KEY' } },
    person: { package: 'builtin:human', config: {} },
    other: { package: 'builtin:acp', config: { command: ['no-such'], passEnv: ['PASSED'] } },
  };
  const roles = { shell: 'shell', model: 'model', person: 'person' };
  const repository = createCliRepository({
    '.uwf/workflows/w.yaml': workflow,
    '.uwf/config.yaml': JSON.stringify({ agents, roles }),
    'agent.cjs': shellAgent(form).replace('__flag__', folder),
  });
  const address = new URL('https://user@example.invalid/r.git');
  address.password = secrets.remote;
  repository.git('config', 'remote.origin.url', address.href);
  repository.git('config', 'http.https://example.invalid/.extraHeader', `Authorization: Bearer ${secrets.header}`);
  const state = createTemporaryFolder();
  chmodSync(state, 0o700);
  const { DEPLOY_TOKEN, PASSED, MODEL_KEY } = secrets;
  return { repository, env: { DEPLOY_TOKEN, PASSED, MODEL_KEY, XDG_STATE_HOME: state } };
}

test.each(['plain', 'base64'] as const)('no command leaves a known value anywhere, %s', async (form) => {
  const { repository, env } = await createScene(form);
  const said = values.map((value) => formsOf(value)[form]).join(' ');
  const results: CommandResult[] = [];
  const run = async (...argv: string[]): Promise<CommandResult> => {
    const result = await repository.uwf(argv, { env });
    results.push(result);
    return result;
  };
  const first = await run('run', 'w', '-p', `Deploy with ${said}`);
  expect(first, first.all).toMatchObject({ code: 4 });
  expect(first.stderr).toContain('redacted from what was given: ');
  expect(first.stderr).toMatch(/redacted from shell: .*known; hand agents a secret with passEnv/u);
  const thread = JSON.parse((await run('thread', 'list', '--json')).stdout)[0].thread as string;
  await run('cas', 'put', said, '--thread', thread, '--title', said);
  await run('cas', 'put', said);
  await run('thread', 'ask', thread, '-p', said, '--agent', 'shell');
  await run('thread', 'compact', thread, '-p', said);
  const answered = await run('thread', 'resume', thread, '-p', `---\n$status: done\n---\n${said}`);
  expect(answered, answered.all).toMatchObject({ code: 0 });
  await run('thread', 'start', 'w', '-p', said);
  await run('thread', 'cancel', JSON.parse((await run('thread', 'list', '--json')).stdout)[0].thread, '--reason', said);
  repository.write(
    'l.yaml',
    workflow.replace('all kinds of agents', JSON.stringify(said)).replace('name: w', 'name: l'),
  );
  expect((await run('workflow', 'add', 'l.yaml')).stderr).toContain('redacted from what was given');
  for (const argv of [
    ['log', thread],
    ['thread', 'read', thread],
    ['thread', 'show', thread],
    ['thread', 'export', thread],
    ['step', 'turns', thread],
    ['step', 'turns', thread, '--live'],
    ['workflow', 'show', 'l'],
  ]) {
    await run(...argv);
  }
  expect(placesOf(values, allWritten(repository.dir))).toEqual([]);
  const printed = new Map(results.map(({ all }, at) => [`the output of command ${at}`, all]));
  expect(placesOf(values, printed)).toEqual([]);
  const key = readFileSync(join(env['XDG_STATE_HOME'] ?? '', 'uwf', 'redaction.key'));
  expect(key).toHaveLength(32);
});

test('a file with a secret is pinned only by a word, and never edited', async () => {
  const repository = createCliRepository({ 'notes.txt': `one\nkey ${secrets.DEPLOY_TOKEN}\n` });
  const env = { DEPLOY_TOKEN: secrets.DEPLOY_TOKEN };
  const refused = await repository.uwf(['cas', 'put', '--pin', 'notes.txt'], { env });
  expect(refused).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('notes.txt holds what looks like secrets'),
  });
  expect(refused.stderr).toContain('line 2 (known)');
  expect(repository.git('cat-file', '--batch-all-objects', '--batch-check')).toBe('');
  const { oid } = (await repository.json(['cas', 'put', '--pin', 'notes.txt', '--allow-secrets'], { env })) as {
    oid: string;
  };
  expect(repository.git('cat-file', 'blob', oid)).toContain(secrets.DEPLOY_TOKEN);
});
