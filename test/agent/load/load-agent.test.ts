import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import { AgentBroken, AgentConfigInvalid, AgentMissing } from '../../../src/agent/agent-errors.ts';
import { builtInAgents } from '../../../src/agent/load/agent-binding.ts';
import { checkAgent, createConfiguredAgent, recordedConfig } from '../../../src/agent/load/load-agent.ts';
import { describeAgentPackage, loadAgentPackage } from '../../../src/agent/load/load-agent-package.ts';
import { UwfError } from '../../../src/errors.ts';
import { packageRoot } from '../../../src/git/system/process-identity.ts';
import { assertSchema } from '../../../src/schema/validate-against.ts';
import { agentRequest, temporaryFolder } from '../../helpers/agent-request.ts';

const source = `
exports.packageDescriptor = { name: 'uwf-agent-mine', version: '1.4.2', capabilities: [], configSchema: { type: 'object' } };
exports.createAgent = (config) => ({ run: async () => ({ kind: 'reply', text: 'mine: ' + JSON.stringify(config) }) });
`;
const esmSource = source.replaceAll(/exports\.(\w+) =/gu, 'export const $1 =');

/** A repository's folder with packages installed in it: files by path under `node_modules`. */
function repositoryWith(files: Record<string, string>): string {
  const folder = temporaryFolder();
  for (const [path, text] of Object.entries(files)) {
    const file = join(folder, 'node_modules', path);
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(file, text);
  }
  return folder;
}

describe('a built-in agent', () => {
  test.each(Object.keys(builtInAgents))('%s describes itself, with a schema that is one', async (name) => {
    const { packageDescriptor } = await loadAgentPackage(`builtin:${name}`, { resolveFrom: '/' });
    expect(packageDescriptor.name).toBe(`builtin:${name}`);
    expect(packageDescriptor.configSchema).toHaveProperty('additionalProperties', false);
    await expect(assertSchema(packageDescriptor.configSchema)).resolves.toBeUndefined();
  });

  test('that does not exist is named with the one that was meant', async () => {
    const error = await loadAgentPackage('builtin:comand', { resolveFrom: '/' }).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(AgentMissing);
    expect(error).toMatchObject({ kind: 'agent', hint: "did you mean 'builtin:command'?" });
    await expect(loadAgentPackage('builtin:constructor', { resolveFrom: '/' })).rejects.toThrow(AgentMissing);
  });
});

describe('a package', () => {
  test.each<[string, string, Record<string, string>]>([
    ['of CommonJS', 'mine', { 'mine/package.json': '{"main": "main.js"}', 'mine/main.js': source }],
    ['without an entry', 'mine', { 'mine/package.json': '{}', 'mine/index.js': source }],
    [
      'for import alone',
      'mine',
      { 'mine/package.json': '{"type": "module", "exports": {"import": "./a.js"}}', 'mine/a.js': esmSource },
    ],
    [
      'with an entry whose ending is left out',
      'mine',
      { 'mine/package.json': '{"main": "./lib"}', 'mine/lib/index.js': source },
    ],
    [
      'with a scope, and conditions within conditions',
      '@me/mine',
      {
        '@me/mine/package.json':
          '{"exports": {".": {"browser": "./no.js", "node": {"require": "./no.js", "default": "./a.mjs"}}}}',
        '@me/mine/a.mjs': esmSource,
      },
    ],
  ])('%s is taken from the repository', async (_, name, files) => {
    const resolveFrom = join(repositoryWith(files), 'sub', 'folder');
    const { packageDescriptor, createAgent } = await loadAgentPackage(name, { resolveFrom });
    expect(packageDescriptor.name).toBe('uwf-agent-mine');
    const agent = await createAgent({ a: 1 });
    expect(await agent.run(agentRequest())).toEqual({ kind: 'reply', text: 'mine: {"a":1}' });
  });

  test('is the one nearest to the repository, and has the version it was installed as', async () => {
    const resolveFrom = repositoryWith({
      'mine/package.json': '{"version": "1.5.0"}',
      'mine/index.js': source,
      '../sub/node_modules/mine/package.json': '{"version": "1.6.0-rc.1"}',
      '../sub/node_modules/mine/index.js': source,
    });
    const versionFrom = async (folder: string): Promise<string> =>
      (await loadAgentPackage('mine', { resolveFrom: join(resolveFrom, folder) })).packageDescriptor.version;
    expect(await versionFrom('.')).toBe('1.5.0');
    expect(await versionFrom('sub')).toBe('1.6.0-rc.1');
  });

  test('that the repository does not have is taken from where uwf is installed', async () => {
    // What uwf is installed with makes no agents, but that it was found can be seen.
    await expect(loadAgentPackage('ulid', { resolveFrom: temporaryFolder() })).rejects.toThrow(
      `the package 'ulid' in ${join(packageRoot(), 'node_modules/ulid')} makes no agents`,
    );
    const resolveFrom = repositoryWith({ 'ulid/package.json': '{}', 'ulid/index.js': source });
    await expect(loadAgentPackage('ulid', { resolveFrom })).resolves.toBeDefined();
  });

  test('that is not installed says how to install it', async () => {
    await expect(loadAgentPackage('uwf-agent-none', { resolveFrom: temporaryFolder() })).rejects.toMatchObject({
      code: 'agent-missing',
      hint: expect.stringContaining('npm install uwf-agent-none'),
    });
  });

  test.each(['../elsewhere', '/etc/passwd', 'a/b', '', '.hidden'])('is never %j: that is no name', async (name) => {
    await expect(loadAgentPackage(name, { resolveFrom: '/' })).rejects.toThrow(/is not the name of an agent package/u);
  });

  const good = "{ name: 'mine', version: '1.0.0', capabilities: [], configSchema: {} }";

  test.each([
    ['exports.createAgent = 1', "its 'createAgent' is no function; its 'packageDescriptor' is no object"],
    [`exports.packageDescriptor = ${good}`, "makes no agents: its 'createAgent' is no function"],
    ['exports.createAgent = () => ({})', "makes no agents: its 'packageDescriptor' is no object"],
    [
      `exports.createAgent = () => ({}); exports.packageDescriptor = { ...${good}, version: 1, configSchema: true, capabilities: 'all' }`,
      "its 'packageDescriptor.version' is no text; its 'packageDescriptor.capabilities' is no list of words; its 'packageDescriptor.configSchema' is no schema",
    ],
    ['module.exports = undefined', 'makes no agents'],
  ])('that exports no agents says what is amiss: %s', async (main, words) => {
    const resolveFrom = repositoryWith({ 'mine/package.json': '{}', 'mine/index.js': main });
    const error = await loadAgentPackage('mine', { resolveFrom }).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(AgentBroken);
    expect(error).toHaveProperty('message', expect.stringContaining(words));
  });

  test('that offers nothing to import is broken', async () => {
    const resolveFrom = repositoryWith({
      'mine/package.json': '{"exports": {"./other": "./index.js"}}',
      'mine/index.js': source,
    });
    await expect(loadAgentPackage('mine', { resolveFrom })).rejects.toThrow(/offers nothing to import/u);
  });

  test.each([
    { exports: '../../code.js' },
    { exports: './../code.js' },
    { main: '../code' },
    { main: '../mine2/code.js' },
  ])('that offers a module of another folder offers nothing: %j', async (manifest) => {
    const resolveFrom = repositoryWith({
      'mine/package.json': JSON.stringify(manifest),
      'code.js': source,
      '../code.js': source,
      'mine2/code.js': source,
    });
    await expect(loadAgentPackage('mine', { resolveFrom })).rejects.toThrow(/offers nothing to import/u);
  });

  test.each([
    ['throw new Error("no key")', 'could not make an agent: Error: no key'],
    ['return Promise.reject(new Error("no key"))', 'could not make an agent: Error: no key'],
    ['return {}', "what 'createAgent' of the agent package 'mine' makes cannot run"],
  ])('whose createAgent does not make one is broken: %s', async (body, words) => {
    const main = `exports.packageDescriptor = ${good}; exports.createAgent = () => { ${body} }`;
    const resolveFrom = repositoryWith({ 'mine/package.json': '{}', 'mine/index.js': main });
    const error = await createConfiguredAgent({ name: 'me', package: 'mine', config: {} }, { resolveFrom }).catch(
      (caught: unknown) => caught,
    );
    expect(error).toBeInstanceOf(AgentBroken);
    expect(error).toHaveProperty('message', expect.stringContaining(words));
  });

  test('whose configSchema is none is broken, and not the configuration', async () => {
    const main = `exports.packageDescriptor = { ...${good}, configSchema: { type: 'words' } }; exports.createAgent = () => ({})`;
    const resolveFrom = repositoryWith({ 'mine/package.json': '{}', 'mine/index.js': main });
    const binding = { name: 'me', package: 'mine', config: {} };
    await expect(createConfiguredAgent(binding, { resolveFrom })).rejects.toThrow(AgentBroken);
    const saying = repositoryWith({ 'mine/package.json': '{ "uwf": { "configSchema": { "type": "words" } } }' });
    await expect(checkAgent(binding, { resolveFrom: saying })).rejects.toThrow(AgentBroken);
  });

  describe('that is looked at is not run', () => {
    const fatal = 'throw new Error("it was run")';
    const key = { type: 'string', 'x-uwf-record': true };
    const configSchema = { properties: { model: key, file: { type: 'string', 'x-uwf-path': true } } };
    const binding = { name: 'me', package: 'mine', config: { model: 'small', file: 'a.txt' } };
    const repositorySaying = (manifest: unknown): string =>
      repositoryWith({ 'mine/package.json': JSON.stringify(manifest), 'mine/index.js': fatal });

    test('and says in its package.json what it can do and what its configuration may be', async () => {
      const uwf = { capabilities: ['sessions'], configSchema };
      const resolveFrom = repositorySaying({ version: '1.2.3', uwf });
      expect(await describeAgentPackage('mine', { resolveFrom })).toEqual({ version: '1.2.3', ...uwf });
      expect(await checkAgent(binding, { resolveFrom })).toEqual({
        config: { model: 'small', file: join(resolveFrom, 'a.txt') },
        record: { name: 'me', package: 'mine', version: '1.2.3', config: { model: 'small' } },
        reports: {},
      });
      const mistaken = checkAgent({ ...binding, config: { model: 1 } }, { resolveFrom });
      await expect(mistaken).rejects.toThrow('agents.me.config.model must be a string');
    });

    test.each([{}, { uwf: null }, { uwf: 'all' }, { uwf: { capabilities: [1], configSchema: true } }])(
      'and is known by its name and version where it says %j',
      async (manifest) => {
        const resolveFrom = repositorySaying({ version: '1.2.3', ...manifest });
        expect(await describeAgentPackage('mine', { resolveFrom })).toEqual({ version: '1.2.3' });
        expect(await checkAgent(binding, { resolveFrom })).toEqual({
          config: binding.config,
          record: { name: 'me', package: 'mine', version: '1.2.3', config: {} },
          reports: {},
        });
      },
    );

    test('and whose version is none is taken for one without a version', async () => {
      for (const version of ['1.0.0\u001B[2J', 'x'.repeat(300), '', 7]) {
        const resolveFrom = repositorySaying({ version });
        expect(await describeAgentPackage('mine', { resolveFrom })).toEqual({ version: '0.0.0' });
      }
    });

    test('and whose package.json leads out of it, or has no end, is no package', async () => {
      for (const target of ['/dev/zero', join(import.meta.dirname, '../../../package.json')]) {
        const resolveFrom = repositorySaying({});
        const file = join(resolveFrom, 'node_modules/mine/package.json');
        rmSync(file);
        symlinkSync(target, file);
        await expect(describeAgentPackage('mine', { resolveFrom })).rejects.toThrow(AgentMissing);
      }
      const deep = `${'{"uwf":'.repeat(20_000)}1${'}'.repeat(20_000)}`;
      const exports = `${'{"import":'.repeat(20_000)}"./index.js"${'}'.repeat(20_000)}`;
      for (const manifest of [deep, `{"uwf":{"configSchema":${deep}}}`, `{"exports":${exports}}`]) {
        const resolveFrom = repositoryWith({ 'mine/package.json': manifest, 'mine/index.js': fatal });
        await checkAgent(binding, { resolveFrom }).catch((error: unknown) => expect(error).toBeInstanceOf(UwfError));
      }
    });
  });

  test('that fails while it is loaded is broken, not missing', async () => {
    const resolveFrom = repositoryWith({ 'mine/package.json': '{}', 'mine/index.js': 'throw new Error("too old")' });
    await expect(loadAgentPackage('mine', { resolveFrom })).rejects.toThrow(AgentBroken);
    await expect(loadAgentPackage('mine', { resolveFrom })).rejects.toThrow(/too old/u);
  });

  test('of a version that will not do is missing', async () => {
    const resolveFrom = repositoryWith({ 'mine/package.json': '{"version": "1.4.2"}', 'mine/index.js': source });
    await expect(loadAgentPackage('mine', { resolveFrom, version: '^1.2.0' })).resolves.toBeDefined();
    await expect(loadAgentPackage('mine', { resolveFrom, version: '^2.0.0' })).rejects.toThrow(
      `installed as 1.4.2 in ${join(resolveFrom, 'node_modules/mine')}, and ^2.0.0 is wanted`,
    );
  });
});

test('a built-in agent has a version too', async () => {
  await expect(loadAgentPackage('builtin:human', { resolveFrom: '/', version: '^1.0.0' })).resolves.toBeDefined();
  await expect(loadAgentPackage('builtin:human', { resolveFrom: '/', version: '^9.0.0' })).rejects.toThrow(
    AgentMissing,
  );
});

describe('the configuration', () => {
  const resolveFrom = '/top';

  test('whose version is no range names the key', async () => {
    const binding = { name: 'me', package: 'builtin:human', version: 'latest', config: {} };
    await expect(checkAgent(binding, { resolveFrom })).rejects.toThrow('agents.me.version must be a range');
  });

  test('is recorded with the version of the installed package', async () => {
    const folder = repositoryWith({ 'mine/package.json': '{"version": "1.9.0"}', 'mine/index.js': source });
    const binding = { name: 'me', package: 'mine', version: '1.x', config: {} };
    const { record } = await checkAgent(binding, { resolveFrom: folder });
    expect(record).toEqual({ name: 'me', package: 'mine', version: '1.9.0', config: {} });
  });

  test('has a price where it has a limit of cost, and is recorded with it', async () => {
    const config = { baseUrl: 'http://127.0.0.1/v1', model: 'm', maxCostUsd: 1 };
    const binding = { name: 'me', package: 'builtin:llm', config };
    await expect(checkAgent(binding, { resolveFrom })).rejects.toThrow(
      'agents.me.config.maxCostUsd needs agents.me.price',
    );
    const price = { inputPerMTok: 1, outputPerMTok: 2 };
    const { record } = await checkAgent({ ...binding, price }, { resolveFrom });
    expect(record.config).toEqual({ model: 'm', maxCostUsd: 1, price });
  });

  test('that is good makes an agent', async () => {
    const replies = { worker: ['hello'] };
    const binding = { name: 'me', package: 'builtin:scripted', config: { replies } };
    const { agent, record } = await createConfiguredAgent(binding, { resolveFrom });
    expect(await agent.run(agentRequest())).toEqual({ kind: 'reply', text: 'hello' });
    expect(record).toEqual({ name: 'me', package: 'builtin:scripted', version: '1.0.0', config: {} });
  });

  test.each([
    ['builtin:command', { argv: 'npm test' }, 'agents.tests.config.argv must be an array'],
    ['builtin:command', {}, "agents.tests.config lacks the property 'argv'"],
    ['builtin:command', { argv: ['npm'], env: { CI: 1 } }, 'agents.tests.config.env.CI must be a string'],
    ['builtin:command', { argv: ['npm'], statuses: { ok: 'x' } }, 'agents.tests.config'],
    ['builtin:workflow', { workflow: 'develop', status: {} }, "must not have the property 'status'"],
    ['builtin:scripted', { replies: {}, file: 'x' }, 'agents.tests.config'],
    ['builtin:human', { editor: '' }, 'agents.tests.config.editor'],
  ])('of %s that is not good names the key: %j', async (reference, config, words) => {
    const binding = { name: 'tests', package: reference, config, declaredAt: '.uwf/config.yaml:3:5' };
    const error = await createConfiguredAgent(binding, { resolveFrom }).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(AgentConfigInvalid);
    expect(error).toHaveProperty('message', expect.stringContaining(words));
    expect(error).toHaveProperty('hint', expect.stringContaining('.uwf/config.yaml:3:5'));
  });

  test('has its paths start at the top of the repository, and is recorded without them', async () => {
    const binding = { name: 'me', package: 'builtin:scripted', config: { file: 'replies.yaml' } };
    const { config, record } = await checkAgent(binding, { resolveFrom });
    expect(config).toEqual({ file: '/top/replies.yaml' });
    expect(record.config).toEqual({});
  });

  test('is recorded only where its schema says so', () => {
    const recorded = { type: 'string', 'x-uwf-record': true };
    const schema = { properties: { model: recorded, key: { type: 'string' }, absent: recorded, toString: recorded } };
    expect(recordedConfig(schema, { model: 'small', key: 'secret', other: 1 })).toEqual({ model: 'small' });
  });
});
