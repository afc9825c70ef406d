import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { prepareHashing } from '../../src/cas/hash.ts';
import { ObjectBatch } from '../../src/git/stores/publish.ts';
import type { Limits } from '../../src/schema/built-in/schema-parts.ts';
import { appendStep } from '../../src/thread/append-step.ts';
import { startThread } from '../../src/thread/thread-verbs.ts';
import type { WorkflowDefinition } from '../../src/workflow/definition.ts';
import { writeWorkflowTree } from '../../src/workflow/nodes.ts';
import { cloneCliRepository, scriptedConfig, type CliRepository } from '../helpers/cli.ts';
import {
  createTemporaryFolder,
  createTemporaryRepository,
  isolatedGitEnvironment,
} from '../helpers/temporary-repository.ts';
import { reply, statuses, workflow } from '../engine/engine-fixture.ts';
import { stepDraft } from '../thread/thread-fixture.ts';

/** What an agent from the thread would leave behind, wherever it ran. */
let canary: string;
beforeEach(() => {
  canary = join(createTemporaryFolder(), 'canary');
});

const done = statuses('done');
const sub = workflow('sub', { worker: done }, [
  { from: '__start__', to: 'worker', when: null },
  { from: 'worker', to: '__end__', when: null },
]);
const foreign = workflow('foreign', { writer: done, checker: done, caller: done, constructor: done }, [
  { from: '__start__', to: 'writer', when: null },
  { from: 'writer', to: 'checker', when: null },
  { from: 'checker', to: 'caller', when: null },
  { from: 'caller', to: 'constructor', when: null },
  { from: 'constructor', to: '__end__', when: null },
]);
const said = Object.fromEntries(['writer', 'checker', 'worker', 'constructor'].map((role) => [role, [reply('done')]]));

/** An agent as a thread may name it. */
function record(name: string, reference: string, config: object = {}): Parameters<typeof stepDraft>[0] & object {
  return { agent: { name, package: reference, version: '1.0.0', config: JSON.parse(JSON.stringify(config)) } };
}

/** A package that leaves its mark when it is imported. */
function writePackage(dir: string, name: string): void {
  const folder = join(dir, 'node_modules', name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name, version: '1.0.0', type: 'module', main: 'i.js' }));
  const text = `import { writeFileSync } from 'node:fs';\nwriteFileSync(${JSON.stringify(canary)}, 'imported');\n`;
  writeFileSync(join(folder, 'i.js'), text);
}

type Shared = { limits?: Limits; definition?: WorkflowDefinition; config?: object };

/** A clone that has fetched a thread whose every word about agents means harm. */
async function receive({
  limits,
  definition = foreign,
  config,
}: Shared): Promise<{ clone: CliRepository; id: string }> {
  await prepareHashing();
  const server = createTemporaryRepository({ bare: true });
  const home = createTemporaryRepository();
  const repository = await home.open();
  const batch = new ObjectBatch();
  const pinned = writeWorkflowTree(batch, definition);
  const child = writeWorkflowTree(batch, sub);
  const touch = { argv: ['touch', canary], command: `touch ${canary}`, program: 'touch' };
  const { agent: runs } = record('script', 'builtin:command', touch);
  const { agent: imports } = record('script', 'evil-agent');
  const { agent: lies } = record('script', join(home.dir, 'node_modules/evil-agent/i.js'));
  const { agent: calls } = record('call', 'builtin:workflow', { workflow: 'sub', definition: { $cas: child.hash } });
  const started = await startThread(repository, batch, {
    workflow: pinned,
    prompt: 'Work.',
    agents: Object.fromEntries(
      Object.entries({ writer: runs!, checker: lies!, caller: calls!, constructor: runs! }).filter(([role]) =>
        Object.hasOwn(definition.roles, role),
      ),
    ),
    ...(Object.hasOwn(definition.roles, 'caller') && { children: { caller: child } }),
    limits,
  });
  const { id } = await appendStep(repository, started, stepDraft({ agent: imports! }));
  home.git('push', '-q', server.dir, 'refs/threads/*');
  const scripted = { package: 'builtin:scripted', config: { replies: said, repeat: true } };
  const clone = cloneCliRepository(server.dir, {
    '.uwf/config.yaml': scriptedConfig(said, {
      agents: { script: scripted, call: { package: 'builtin:workflow', config: { workflow: 'sub' } } },
      roles: { caller: 'call' },
      ...config,
    }),
  });
  writePackage(clone.dir, 'evil-agent');
  writePackage(home.dir, 'evil-agent');
  const { code, stdout, stderr } = await clone.uwf(['fetch']);
  if (code !== 0) throw new Error(`${stdout}${stderr}`);
  return { clone, id };
}

/** Runs uwf as people do. */
function uwf({ dir }: CliRepository, ...args: string[]): { code: number | null; stdout: string; stderr: string } {
  const program = join(import.meta.dirname, '../../bin/uwf.js');
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], {
    cwd: dir,
    env: isolatedGitEnvironment,
    encoding: 'utf8',
  });
  return { code: status, stdout, stderr };
}

/** Who did each step, by what the steps say; the word of those that were fetched is not counted. */
async function agentsOf(clone: CliRepository, id: string): Promise<string[]> {
  const steps = (await clone.json(['step', 'list', id])) as { agent: string }[];
  return steps.map(({ agent }) => agent);
}

describe('a thread that somebody else started', () => {
  test('is continued by the agents of this machine, whatever it says of its own', async () => {
    const { clone, id } = await receive({});
    expect(uwf(clone, 'thread', 'step', id)).toMatchObject({ code: 0 });
    expect(uwf(clone, 'thread', 'poke', id, '-p', 'again')).toMatchObject({ code: 0 });
    expect(uwf(clone, 'thread', 'ask', id, '-p', 'why?').code).not.toBe(70);
    expect(uwf(clone, 'thread', 'run', id)).toMatchObject({ code: 0 });
    expect(await agentsOf(clone, id)).toEqual(['script', 'script', 'call', 'script']);
    const threads = (await clone.json(['thread', 'list', '--all'])) as { thread: string; workflow: string }[];
    const child = threads.find(({ workflow: name }) => name === 'sub')?.thread ?? '';
    expect(await agentsOf(clone, child)).toEqual(['script']);
    expect(uwf(clone, 'thread', 'verify', id)).toMatchObject({ code: 0 });
    expect(existsSync(canary)).toBe(false);
  });

  test('is not continued where this machine has no agent for it', async () => {
    const { clone, id } = await receive({ config: { defaultAgent: undefined } });
    const before = clone.git('for-each-ref');
    for (const [name = '', ...more] of [['step'], ['run'], ['step', '--agent', 'evil-agent']]) {
      const { code, stderr } = uwf(clone, 'thread', name, id, ...more);
      // None is configured, or none is called so.
      expect({ code, stderr }).toEqual({ code: more.length > 0 ? 2 : 6, stderr: expect.stringMatching(/agent/) });
    }
    expect(clone.git('for-each-ref')).toBe(before);
    expect(existsSync(canary)).toBe(false);
  });

  test('cannot raise what this machine allows, and its own limits may be as large as they like', async () => {
    const huge = Number.MAX_SAFE_INTEGER;
    const limits = { maxSteps: huge, maxVisits: huge, timeoutMs: huge, idleTimeoutMs: huge, maxTokens: huge };
    const { clone, id } = await receive({ limits, config: { limits: { maxSteps: 2, maxDepth: 0 } } });
    expect(uwf(clone, 'thread', 'run', id)).toMatchObject({ code: 4 });
    expect(await agentsOf(clone, id)).toEqual(['script', 'script']);
    expect(await clone.json(['thread', 'show', id])).toMatchObject({ status: 'suspended' });
    // Resumed it may have two more, and no child.
    uwf(clone, 'thread', 'resume', id);
    expect(await agentsOf(clone, id)).toHaveLength(2);
    expect(existsSync(canary)).toBe(false);
  });
});

describe('where an agent works on a thread that somebody else started', () => {
  /** The foreign workflow with its checker, who is next, told to work somewhere. */
  function working(place: { cwd?: string; location?: string }): WorkflowDefinition {
    const { location, cwd } = place;
    const checker = { ...foreign.roles['checker']!, ...(cwd !== undefined && { cwd }) };
    const moderator = foreign.moderator.map((rule) =>
      rule.to === 'checker' && location !== undefined ? { ...rule, location } : rule,
    );
    return { ...foreign, roles: { ...foreign.roles, checker }, moderator };
  }

  /** Has a program of this machine say where it is. */
  async function whereIs(place: { cwd?: string; location?: string }, links: Record<string, string> = {}) {
    const script = `pwd > ${canary}; printf -- '---\\n$status: done\\n---\\nhere\\n'`;
    const config = {
      agents: { pwd: { package: 'builtin:command', config: { argv: ['sh', '-c', script] } } },
      roles: {},
      defaultAgent: 'pwd',
    };
    const { clone, id } = await receive({ definition: working(place), config });
    mkdirSync(join(clone.dir, 'docs'));
    for (const [name, target] of Object.entries(links)) spawnSync('ln', ['-s', target, join(clone.dir, name)]);
    const result = uwf(clone, 'thread', 'step', id, '--json');
    const where = existsSync(canary) ? readFileSync(canary, 'utf8').trim() : undefined;
    return { ...result, where, dir: clone.dir, files: readdirSync(clone.dir) };
  }

  test('is a folder of the work tree', async () => {
    const { where, dir, stderr } = await whereIs({ cwd: 'docs' });
    expect(where, stderr).toBe(join(dir, 'docs'));
    expect((await whereIs({ location: 'docs' })).where).toMatch(/docs$/);
  });

  test('is nowhere else: neither by its name nor by a link', async () => {
    const outside = createTemporaryFolder();
    const refused = { where: undefined, code: 1, stderr: expect.stringContaining('working-folder-outside') };
    expect(await whereIs({ location: '{{ "/" }}etc' })).toMatchObject(refused);
    expect(await whereIs({ location: '..' })).toMatchObject(refused);
    expect(await whereIs({ location: 'out' }, { out: outside })).toMatchObject(refused);
    expect(await whereIs({ cwd: 'out' }, { out: outside })).toMatchObject(refused);
    expect(await whereIs({ cwd: '.git/hooks' })).toMatchObject(refused);
  });

  test.each([{ cwd: '/etc' }, { cwd: '../elsewhere' }])(
    'is not even read of a definition that says %j',
    async (place) => {
      await expect(receive({ definition: working(place) })).rejects.toThrow(/must be a folder of the work tree/);
    },
  );
});
