import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { assert, asyncProperty, constantFrom, dictionary, record, string } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nodesBehind } from '../../../src/cas/commit-nodes.ts';
import { encodeNode, MemorySource } from '../../../src/cas/node.ts';
import type { JsonObject } from '../../../src/json.ts';
import { isNodeHash, prepareHashing } from '../../../src/cas/hash.ts';
import { ObjectBatch } from '../../../src/git/stores/publish.ts';
import { readCommit, readTree } from '../../../src/git/stores/read.ts';
import { parseRefName } from '../../../src/git/format/refs.ts';
import { walk } from '../../../src/schema/links.ts';
import { compileSchema } from '../../../src/schema/validator.ts';
import { builtInSchema, typeNameOf } from '../../../src/schema/built-in.ts';
import type { WorkflowDefinition } from '../../../src/workflow/definition.ts';
import { validateWorkflow } from '../../../src/workflow/check/validate-workflow.ts';
import { InvalidWorkflow, Report } from '../../../src/workflow/source/source-map.ts';
import { reduceWorkflow } from '../../../src/workflow/notation/reduce-workflow.ts';
import { encodeWorkflow, loadWorkflow, NotAWorkflow, writeWorkflowTree } from '../../../src/workflow/nodes.ts';
import {
  findWorkflow,
  listWorkflows,
  NoRegistration,
  registerWorkflow,
  removeWorkflow,
  WorkflowNotFound,
} from '../../../src/workflow/registry/find-workflow.ts';
import { listWorkflowFiles, loadWorkflowFile, resolveWorkflow } from '../../../src/workflow/load/resolve-workflow.ts';
import { createMemoryRepository, expectCleanMemory } from '../../helpers/memory-repository.ts';
import { createTemporaryRepository, expectCleanFsck } from '../../helpers/temporary-repository.ts';

const fixtures = fileURLToPath(new URL('../../../fixtures/workflows/', import.meta.url));
await prepareHashing();

async function fixture(name: string): Promise<WorkflowDefinition> {
  const { definition } = await loadWorkflowFile(`${fixtures}${name}.yaml`);
  return definition!;
}

const schema = { type: 'object', properties: { $status: { const: 'done' } }, required: ['$status'] };
/** The same workflow in three notations. */
const byRules = {
  name: 'small',
  roles: { worker: { description: 'works', schema } },
  moderator: [
    { from: '__start__', to: 'worker', when: null },
    { from: 'worker', to: '__end__', when: "$steps[-1].meta.`$status` = 'done'" },
  ],
};
const byStatus = {
  version: 1,
  graph: { $START: { new: { role: 'worker' } }, worker: { done: { role: '$END' } } },
  roles: { worker: { frontmatter: schema, description: 'works' } },
  name: 'small',
};
const byCondition = {
  name: 'small',
  conditions: { done: "$steps[-1].meta.`$status` = 'done'" },
  roles: byRules.roles,
  graph: { $START: [{ role: 'worker' }], worker: [{ role: '$END', condition: 'done' }] },
};
const changed = { ...byRules, description: 'another version' };

describe('registering', () => {
  test.each(['find-regression', 'develop', 'solve-issue'])('gives %s back as it was', async (name) => {
    const memory = await createMemoryRepository();
    const definition = await fixture(name);
    const hash = await registerWorkflow(memory.repository, definition);
    const loaded = await loadWorkflow(memory.repository, hash);
    expect(loaded).toEqual(definition);
    expect(Object.keys(loaded.roles)).toEqual(Object.keys(definition.roles));
    const { commit } = (await findWorkflow(memory.repository, name))!;
    expect(await loadWorkflow(nodesBehind(memory.repository, [commit]), hash)).toEqual(definition);
    expectCleanMemory(memory);
  });

  test('gives one hash for one definition, whatever its notation and the order of its keys', async () => {
    const { repository } = await createMemoryRepository();
    const hash = await registerWorkflow(repository, byRules);
    expect(isNodeHash(hash)).toBe(true);
    expect(await registerWorkflow(repository, byStatus)).toBe(hash);
    expect(await registerWorkflow(repository, byCondition)).toBe(hash);
    expect(await registerWorkflow(repository, changed)).not.toBe(hash);
  });

  test('keeps the schema of a type that came later beside the one that needs it', async () => {
    const memory = await createMemoryRepository();
    const moderator = [...byRules.moderator, { from: 'worker', to: '__end__', when: null, on: 'limit', returnCode: 2 }];
    const hash = await registerWorkflow(memory.repository, { ...byRules, moderator });
    const { commit } = (await findWorkflow(memory.repository, 'small'))!;
    expect((await loadWorkflow(nodesBehind(memory.repository, [commit]), hash)).moderator).toEqual(moderator);
    expectCleanMemory(memory);
  });

  test('writes nothing for what is the newest version already', async () => {
    const { repository } = await createMemoryRepository();
    await registerWorkflow(repository, byRules);
    const before = await findWorkflow(repository, 'small');
    await registerWorkflow(repository, byStatus);
    expect(await findWorkflow(repository, 'small')).toEqual(before);
  });

  test('keeps every version as a commit, the one before as its first parent', async () => {
    const memory = await createMemoryRepository();
    const first = await registerWorkflow(memory.repository, byRules);
    await registerWorkflow(memory.repository, changed);
    expect(await registerWorkflow(memory.repository, byRules)).toBe(first);
    const { commit } = (await findWorkflow(memory.repository, 'small'))!;
    const { parents, message } = await readCommit(memory.repository.objects, commit);
    expect(message).toBe(`small\n\nUwf-Node: ${first}\nUwf-Type: workflow\n`);
    const [second] = parents;
    expect((await readCommit(memory.repository.objects, second!)).parents).toHaveLength(1);
    expectCleanMemory(memory);
  });

  test('of several at once keeps all, one after the other', async () => {
    const repository = createTemporaryRepository();
    const open = await repository.open();
    const versions = Array.from({ length: 8 }, (_, index) => ({ ...byRules, description: `version ${index}` }));
    await Promise.all(versions.map((version) => registerWorkflow(open, version)));
    const subjects = repository.git('log', '--format=%s', 'refs/workflows/small').split('\n');
    expect(subjects.toSorted()).toEqual(versions.map(({ description }) => `small: ${description}`));
    expectCleanFsck(repository.dir);
    await open.close();
  });

  test('stores nodes that their types allow', async () => {
    for (const { node } of encodeWorkflow(await fixture('develop')).nodes) {
      const name = typeNameOf(node.type)!;
      expect((await compileSchema(builtInSchema(name)))(node.payload)).toEqual([]);
    }
  });

  test('stores what a walk meets: the workflow, every role, every schema', async () => {
    const { repository } = await createMemoryRepository();
    const definition = await fixture('develop');
    const hash = await registerWorkflow(repository, definition);
    const met: Record<string, string[]> = {};
    for await (const node of walk(repository, hash)) (met[node.typeName ?? ''] ??= []).push(node.hash);
    const stored = encodeWorkflow(definition).nodes.map(({ node }) => node.hash);
    expect(Object.values(met).flat().toSorted()).toEqual([...new Set(stored)].toSorted());
    expect(met['workflow']).toEqual([hash]);
    expect(met['role']).toHaveLength(Object.keys(definition.roles).length);
    expect(met['role-schema']).toHaveLength(Object.keys(definition.roles).length);
  });

  test('uses the tree that a thread uses, object id for object id', async () => {
    const { repository } = await createMemoryRepository();
    const definition = await fixture('develop');
    await registerWorkflow(repository, definition);
    const { tree } = writeWorkflowTree(new ObjectBatch(), definition);
    const { commit } = (await findWorkflow(repository, 'develop'))!;
    const entries = await readTree(repository.objects, (await readCommit(repository.objects, commit)).tree);
    expect(entries.map(({ name }) => name)).toEqual(['index', 'types', 'workflow']);
    expect(entries.find(({ name }) => name === 'workflow')?.id).toBe(tree);
  });

  test('refuses a workflow with mistakes and carries all of them', async () => {
    const { repository } = await createMemoryRepository();
    const error = await registerWorkflow(repository, { ...byRules, name: 'No Name', extra: 1 }).catch(
      (caught: unknown) => caught,
    );
    expect(error).toBeInstanceOf(InvalidWorkflow);
    expect((error as InvalidWorkflow).diagnostics.map(({ code }) => code).toSorted()).toEqual([
      'bad-name',
      'unknown-key',
    ]);
    expect(await listWorkflows(repository)).toEqual({ workflows: [], unreadable: [] });
  });

  test('any definition comes back equal', async () => {
    const text = string({ unit: 'grapheme' });
    const names = constantFrom('worker', 'Worker', '0', 'a.b-c', '10');
    await assert(
      asyncProperty(
        dictionary(names, record({ description: text, systemPrompt: text }), { minKeys: 1 }),
        text,
        async (parts, description) => {
          const roles = Object.fromEntries(
            Object.entries(parts).map(([name, part]) => [name, { ...part, extractPrompt: '', schema }]),
          );
          const definition: WorkflowDefinition = { name: 'small', description, roles, moderator: [] };
          const { hash, nodes } = encodeWorkflow(definition);
          expect(await loadWorkflow(new MemorySource(nodes.map(({ node }) => node)), hash)).toEqual(definition);
        },
      ),
    );
  });
});

describe('loading', () => {
  test('refuses what is no workflow', async () => {
    const { nodes } = encodeWorkflow(await fixture('develop'));
    const source = new MemorySource(nodes.map(({ node }) => node));
    await expect(loadWorkflow(source, nodes[1]!.node.hash)).rejects.toBeInstanceOf(NotAWorkflow);
    await expect(loadWorkflow(source, 'develop')).rejects.toBeInstanceOf(NotAWorkflow);
    await expect(loadWorkflow(new MemorySource([nodes[0]!.node]), nodes[0]!.node.hash)).rejects.toMatchObject({
      code: 'node-not-found',
    });
  });
});

/** Payloads of a workflow and its role that the reader of files takes in its own way, or refuses. */
const odd: readonly [string, JsonObject, JsonObject][] = [
  ['a prompt of blanks', { moderator: [{ from: 'worker', to: 'worker', when: null, prompt: ' ' }] }, {}],
  ['a return code in the middle', { moderator: [{ from: 'worker', to: 'worker', when: null, returnCode: 1 }] }, {}],
  ['a rule of another kind', { moderator: [{ from: 'worker', to: 'worker', when: 1 }] }, {}],
  ['a rule with more keys', { moderator: [{ from: 'worker', to: 'worker', when: null, if: 'a' }] }, {}],
  ['no roles', { roles: {} }, {}],
  ['limits that do not limit', { limits: {} }, { limits: {} }],
  ['a limit that no counter reaches', { limits: { maxSteps: 1e300 } }, {}],
  ['a limit of null', { limits: { maxSteps: null } }, {}],
  ['a name that is none', { name: 'A b' }, {}],
  ['a free key', { 'x-free': 1 }, { 'x-free': 1 }],
  ['no checks', {}, { check: [] }],
  ['one check', {}, { check: { expression: 'true', message: 'no' } }],
  ['too many tries', {}, { retries: 101 }],
  ['a folder outside', {}, { cwd: '../other' }],
  ['an absolute folder', {}, { cwd: '/tmp' }],
  ['a snapshot of YAML 1.1', {}, { snapshot: true }],
  ['a goal', {}, { goal: 'Good texts.' }],
  ['nothing odd', {}, { cwd: 'a/b', retries: 100, snapshot: 'on', limits: { maxVisits: 2 } }],
];

test.each(odd)('a stored definition with %s means what a file with it means', async (_, ofWorkflow, ofRole) => {
  const { definition: plain } = await validateWorkflow(byRules);
  const { nodes } = encodeWorkflow(plain!);
  const [workflow, role, schemaNode] = nodes.map(({ node }) => node);
  const own = { ...(role!.payload as JsonObject), ...ofRole };
  const oddRole = encodeNode(role!.type, own);
  const whole = { ...(workflow!.payload as JsonObject), roles: { worker: oddRole.hash }, ...ofWorkflow };
  const oddWorkflow = encodeNode(workflow!.type, whole);
  const loaded = loadWorkflow(new MemorySource([schemaNode!, oddRole, oddWorkflow]), oddWorkflow.hash);
  const report = new Report();
  const { name: _name, ...read } = own;
  const roles = Object.hasOwn(ofWorkflow, 'roles') ? {} : { worker: { ...read, schema: schemaNode!.payload } };
  const { definition } = reduceWorkflow(report, { ...whole, roles });
  if (report.hasErrors)
    await expect(loaded).rejects.toEqual(new InvalidWorkflow(definition.name, report.diagnostics()));
  else expect(await loaded).toEqual(definition);
});

describe('listing and removing', () => {
  test('a ref that holds no workflow does not hide the others', async () => {
    const repository = createTemporaryRepository();
    repository.git('commit', '--quiet', '--allow-empty', '-m', 'Begin');
    repository.git('update-ref', 'refs/workflows/foreign', 'HEAD');
    const open = await repository.open();
    await registerWorkflow(open, byRules);
    const { workflows, unreadable } = await listWorkflows(open);
    expect(workflows.map(({ name }) => name)).toEqual(['small']);
    expect(unreadable).toMatchObject([{ name: 'foreign', problem: { code: 'no-registration' } }]);
    await expect(findWorkflow(open, 'foreign')).rejects.toBeInstanceOf(NoRegistration);
    await open.close();
  });

  test('a removed workflow is gone, and one that is not there is named with its neighbours', async () => {
    const { repository } = await createMemoryRepository();
    await registerWorkflow(repository, byRules);
    await expect(removeWorkflow(repository, 'smal')).rejects.toMatchObject({
      code: 'workflow-not-found',
      hint: "did you mean 'small'?",
    });
    await removeWorkflow(repository, 'small');
    expect(await repository.refs.read(parseRefName('refs/workflows/small'))).toBeUndefined();
    await expect(removeWorkflow(repository, '../heads/main')).rejects.toMatchObject({ code: 'invalid-workflow-name' });
  });
});

describe('resolving an argument', () => {
  const write = (file: string, value: unknown): void => {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, JSON.stringify(value));
  };

  test('takes a hash, then a path, then the nearest folder, then the registry', async () => {
    const temporary = createTemporaryRepository();
    const repository = await temporary.open();
    const inner = join(temporary.dir, 'packages', 'inner');
    mkdirSync(inner, { recursive: true });
    const resolve = (argument: string) => resolveWorkflow(repository, argument, { cwd: inner });

    const hash = await registerWorkflow(repository, byRules);
    expect(await resolve('small')).toMatchObject({ hash, origin: { kind: 'registry', ref: 'refs/workflows/small' } });
    expect(await resolve(hash)).toMatchObject({ hash, origin: { kind: 'node' }, definition: { name: 'small' } });

    const top = join(temporary.dir, '.uwf', 'workflows', 'small.json');
    write(top, changed);
    expect(await resolve('small')).toMatchObject({
      origin: { kind: 'file', file: top },
      definition: { description: 'another version' },
    });
    const near = join(inner, '.uwf', 'workflows', 'small.yaml');
    write(near, byStatus);
    expect(await resolve('small')).toMatchObject({ hash, origin: { kind: 'file', file: near } });
    expect(await resolve('../../.uwf/workflows/small.json')).toMatchObject({ origin: { kind: 'file', file: top } });
    expect(await listWorkflowFiles(repository, inner)).toEqual([{ name: 'small', file: near }]);
    await repository.close();
  });

  test('tells where it looked and what was probably meant', async () => {
    const temporary = createTemporaryRepository();
    const repository = await temporary.open();
    await registerWorkflow(repository, byRules);
    const error = await resolveWorkflow(repository, 'smell', { cwd: temporary.dir }).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(WorkflowNotFound);
    expect(error).toMatchObject({
      message:
        "there is no workflow 'smell'; looked at .uwf/workflows/smell.{yaml,yml,json}, .uwf/workflows/smell/index.{yaml,yml,json}, refs/workflows/smell",
      hint: "did you mean 'small'?",
    });
    await expect(resolveWorkflow(repository, './smell.yaml', { cwd: temporary.dir })).rejects.toMatchObject({
      lookedAt: ['smell.yaml'],
    });
    await repository.close();
  });

  test('takes a folder with an index for the workflow of its name, and says what another folder is', async () => {
    const temporary = createTemporaryRepository();
    const repository = await temporary.open();
    const folder = join(temporary.dir, '.uwf', 'workflows', 'small');
    const index = join(folder, 'index.yaml');
    write(index, byRules);
    write(join(temporary.dir, '.uwf', 'workflows', 'other', 'notes.json'), {});
    const resolve = (argument: string, cwd = temporary.dir) => resolveWorkflow(repository, argument, { cwd });
    for (const argument of ['small', '.uwf/workflows/small', '.uwf/workflows/small/', folder]) {
      expect(await resolve(argument)).toMatchObject({ origin: { kind: 'file', file: index } });
    }
    expect(await resolve('.', folder)).toMatchObject({ origin: { file: index } });
    expect(await listWorkflowFiles(repository, temporary.dir)).toEqual([{ name: 'small', file: index }]);
    await expect(resolve('.uwf/workflows')).rejects.toMatchObject({
      code: 'workflow-not-found',
      message: expect.stringMatching(/is a folder .*no workflow; in it lie '.uwf\/workflows\/small\/index.yaml'/u),
    });
    await expect(resolve('.git')).rejects.toMatchObject({
      message: expect.stringContaining('no workflow file lies in it'),
    });
    // Of one name the file counts.
    const file = join(temporary.dir, '.uwf', 'workflows', 'small.json');
    write(file, changed);
    expect(await resolve('small')).toMatchObject({ origin: { file } });
    expect(await listWorkflowFiles(repository, temporary.dir)).toEqual([{ name: 'small', file }]);
    await repository.close();
  });

  test('does not pass over a file that has mistakes', async () => {
    const temporary = createTemporaryRepository();
    const repository = await temporary.open();
    await registerWorkflow(repository, byRules);
    write(join(temporary.dir, '.uwf', 'workflows', 'small.json'), { ...byRules, extra: 1 });
    await expect(resolveWorkflow(repository, 'small', { cwd: temporary.dir })).rejects.toBeInstanceOf(InvalidWorkflow);
    await repository.close();
  });

  test('an include reaches files of the repository and no others, symbolic links followed', async () => {
    const temporary = createTemporaryRepository();
    const repository = await temporary.open();
    const outside = realpathSync(createTemporaryRepository().dir);
    writeFileSync(join(outside, 'secret.md'), 'secret');
    writeFileSync(join(temporary.dir, 'prompt.md'), 'You work.\n');
    symlinkSync(join(outside, 'secret.md'), join(temporary.dir, 'link.md'));
    const file = join(temporary.dir, '.uwf', 'workflows', 'small.yaml');
    const load = async (reference: string) => {
      mkdirSync(dirname(file), { recursive: true });
      const text = `name: small\nroles: { worker: { systemPrompt: !include ${reference}, schema: {} } }\nmoderator: [{ from: __start__, to: worker }, { from: worker, to: __end__ }]\n`;
      writeFileSync(file, text);
      return (await resolveWorkflow(repository, 'small', { cwd: temporary.dir })).definition.roles['worker']
        ?.systemPrompt;
    };
    expect(await load('../../prompt.md')).toBe('You work.\n');
    for (const reference of [
      '../../link.md',
      `../../../${outside.split('/').at(-1)}/secret.md`,
      join(outside, 'secret.md'),
      '../../../none/none.md',
    ]) {
      await expect(load(reference)).rejects.toMatchObject({ diagnostics: [{ code: 'include-failed', line: 2 }] });
    }
    await repository.close();
  });
});
