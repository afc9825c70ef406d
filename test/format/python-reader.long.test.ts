import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { deflateSync } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalJson } from '../../src/cas/canonical.ts';
import { deterministicCbor, type NodeHash, prepareHashing } from '../../src/cas/hash.ts';
import type { GitObject, ObjectId } from '../../src/git/format/object-id.ts';
import type { Repository } from '../../src/git/repository.ts';
import type { JsonObject, JsonValue } from '../../src/json.ts';
import { forkThread } from '../../src/thread/thread-verbs.ts';
import { nextOfMessage } from '../../src/thread/commit-message.ts';
import { newThreadId } from '../../src/thread/new-thread-id.ts';
import { readChain, readSteps } from '../../src/thread/thread-chain.ts';
import { readState, type ThreadState, totalsOf } from '../../src/thread/thread-state.ts';
import { ACTIVE_PREFIX, activeRef, HISTORY_PREFIX, threadOfRef } from '../../src/thread/thread-id.ts';
import { statusOf, type ThreadCommitKind } from '../../src/thread/thread-commit.ts';
import { createMapRepository, type MapRepository } from '../helpers/map-repository.ts';
import {
  createTemporaryFolder,
  createTemporaryRepository,
  isolatedGitEnvironment,
  runGit,
} from '../helpers/temporary-repository.ts';
import { createBlockFixture, runTeam } from '../verify/blocks/block-fixture.ts';
import { forge, store, type Draft } from '../verify/forge-commit.ts';
import { createDice, growThread } from '../verify/grow-thread.ts';
import { growRichThread } from '../verify/rich-thread.ts';

// Debian's, for which its package `python3-xxhash` is.
const python = '/usr/bin/python3';
const isLeftOut = process.env['SUITE_WITHOUT_PYTHON_XXHASH'] === '1';
if (!isLeftOut && spawnSync(python, ['-c', 'import xxhash']).status !== 0) {
  const hint = 'install it (python3-xxhash of Debian), or set SUITE_WITHOUT_PYTHON_XXHASH=1';
  throw new Error(`${python} has no module xxhash: ${hint}`);
}

type Ran = { code: number | null; stdout: string; stderr: string };

function runPython(args: readonly string[], input = ''): Ran {
  const options = { input, env: isolatedGitEnvironment, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 } as const;
  const { status, stdout, stderr } = spawnSync(python, ['-B', ...args], options);
  return { code: status, stdout, stderr };
}

const readByPython = (dir: string): Ran => runPython(['test/format/read_threads.py', dir]);

/** Gives one of the reader's functions each of these lists of arguments. */
function callPython(code: string, rows: readonly JsonValue[]): JsonValue {
  const script = `
import json, sys
sys.path.insert(0, 'test/format')
from read_threads import *
for row in parse_json(sys.stdin.read()): print(json.dumps(${code}))`;
  const { stdout, stderr } = runPython(['-c', script], JSON.stringify(rows));
  expect(stderr).toBe('');
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line): JsonValue => JSON.parse(line));
}

describe.skipIf(isLeftOut)('a reader in Python, written by docs/format.md', () => {
  test('agrees with the golden vectors', () => {
    const vectors = JSON.parse(readFileSync('fixtures/golden/hash-vectors.json', 'utf8')) as {
      digest: { input: string; base32: string }[];
      cbor: { value: JsonValue; hex: string }[];
      node: { type: string; payload: JsonValue; hash: string }[];
    };
    const { digest, cbor, node } = vectors;
    expect(callPython("base32(xxhash.xxh64_intdigest(row['input'].encode()))", digest)).toEqual(
      digest.map(({ base32 }) => base32),
    );
    expect(callPython("cbor(row['value']).hex()", cbor)).toEqual(cbor.map(({ hex }) => hex));
    expect(callPython("hash_of(row['type'], row['payload'])", node)).toEqual(node.map(({ hash }) => hash));
  });

  test('writes any JSON as CBOR and as canonical JSON as uwf does', () => {
    const near = fc.tuple(fc.integer({ min: -2048, max: 2048 }), fc.integer({ min: -30, max: 70 }));
    const number = fc.oneof(
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.float({ noNaN: true, noDefaultInfinity: true }),
      near.map(([digits, power]) => digits * 2 ** power),
      fc.integer({ min: -30, max: 30 }).map((power) => 10 ** power),
      fc.constantFrom(-0, 2 ** 53 - 1, 2 ** 53, -(2 ** 53), 1e21, 123_456_789_012_345_680_000, 1e-6, 1e-7, 5e-324),
    );
    const text = fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'binary' }));
    const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom<JsonValue>(null, true, false),
        number,
        text,
        fc.array(tie('value')),
        // Parsed, so that `__proto__` is a key as any other.
        fc.array(fc.tuple(text, tie('value'))).map((pairs): JsonValue => {
          const members = pairs.map((pair) => pair.map((part) => JSON.stringify(part)).join(':'));
          return JSON.parse(`{${members.join(',')}}`);
        }),
      ),
    }));
    const values = fc.sample(value, { numRuns: 3000, seed: 39 });
    expect(callPython("[cbor(row).hex(), canonical(row) + '\\n']", values)).toEqual(
      values.map((one) => [Buffer.from(deterministicCbor(one)).toString('hex'), canonicalJson(one)]),
    );
  });

  test.each(['sha1', 'sha256'] as const)('says of threads of %s what uwf says', async (objectFormat) => {
    await prepareHashing();
    const { dir, open } = createTemporaryRepository({ objectFormat });
    const repository = await open();
    const dice = createDice(objectFormat.length);
    for (let count = 0; count < 20; count++) await growThread(repository, dice);
    if (objectFormat === 'sha1') {
      const [ended] = await growRichThread(repository);
      if (ended === undefined) throw new Error('there is no thread');
      await forkThread(repository, { id: ended.id, head: ended.head.id });
    }
    await expectSame(repository, dir, 20);
  });

  test('says of blocks and their branches what uwf says', async () => {
    const fixture = await createBlockFixture();
    await runTeam(fixture);
    await expectSame(fixture.repository, fixture.dir, 10);
  });

  test('reads the threads of the day on which the format was frozen', () => {
    const dir = createTemporaryFolder();
    runGit(dir, ['clone', '--quiet', '--mirror', join(process.cwd(), 'fixtures/repositories/format-1.bundle'), '.']);
    const { code, stdout, stderr } = readByPython(dir);
    expect([code, stderr]).toEqual([0, '']);
    const golden = JSON.parse(readFileSync('fixtures/golden/format-1.json', 'utf8')) as {
      thread: string;
      head: string;
    }[];
    const rows = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { thread: string; head: string });
    expect(rows).toHaveLength(5);
    for (const { thread, head } of rows) expect(golden).toContainEqual(expect.objectContaining({ thread, head }));
  });
});

/** Expects that Python reads of each thread what uwf reads of it, and finds nothing wrong. */
async function expectSame(repository: Repository, dir: string, atLeast: number): Promise<void> {
  const refs = [...(await repository.refs.list(ACTIVE_PREFIX)), ...(await repository.refs.list(HISTORY_PREFIX))];
  expect(refs.length).toBeGreaterThan(atLeast);
  const wanted = [];
  for (const { name, id: head } of refs) {
    const thread = threadOfRef(name)?.id;
    if (thread === undefined) throw new Error(`${name} is no thread's`);
    const state = await readState(repository, thread, head);
    const { steps } = await readSteps(repository, head, Infinity);
    wanted.push({
      thread,
      status: state.end?.node.outcome ?? (state.head.kind === 'suspend' ? 'suspended' : 'idle'),
      head,
      prompt: state.prompt,
      steps: steps.map(({ commit: { id, node, commit }, text }) => ({
        commit: id,
        number: node.number,
        role: node.role,
        next: nextOfMessage(commit.message) ?? null,
        status: statusOf(node.meta),
        text,
      })),
      totals: totalsOf(state.tally),
    });
  }
  const { code, stdout, stderr } = readByPython(dir);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const rows = stdout
    .split('\n')
    .slice(0, -1)
    .map((line): { thread: string } => JSON.parse(line));
  const byThread = (a: { thread: string }, b: { thread: string }): number => (a.thread < b.thread ? -1 : 1);
  expect(rows.toSorted(byThread)).toEqual(wanted.toSorted(byThread));
}

describe.skipIf(isLeftOut)('a reader in Python finds', () => {
  type Change = (draft: Draft, repository: MapRepository) => void;
  const blob = (repository: MapRepository, text: string): { mode: string; id: ObjectId } => ({
    mode: '100644',
    id: store(repository, 'blob', text),
  });
  const text = (repository: MapRepository, { files }: Draft, path: string): string =>
    Buffer.from(repository.objectMap.get(files.get(path)!.id)!.data).toString();

  test.each<[what: string, kind: ThreadCommitKind, change: Change, found: string]>([
    ['another text', 'step', (draft, at) => draft.files.set('output.md', blob(at, 'Forged.')), 'has the hash'],
    ['another hash', 'step', (draft) => draft.listed.set('prompt.md', '0000000000000' as NodeHash), 'has the hash'],
    ['a node that is not listed', 'step', (draft) => draft.listed.delete('prompt.md'), 'the index is'],
    ['a file too many', 'resume', (draft, at) => draft.files.set('more.md', blob(at, 'More.')), 'the index is'],
    [
      'JSON on one line',
      'step',
      (draft, at) => draft.files.set('step.json', blob(at, JSON.stringify(JSON.parse(text(at, draft, 'step.json'))))),
      'canonical',
    ],
    ['another number', 'step', ({ node }) => (node['number'] = 9), 'number is 9'],
    ['another step before', 'step', ({ node }) => (node['previous'] = null), 'the step before is None'],
    ['another step before an end', 'end', ({ node }) => (node['lastStep'] = null), 'the step before is None'],
    ['other ancestors', 'step', ({ node }) => (node['ancestors'] = []), 'ancestors is []'],
    ['another start', 'end', ({ node }) => (node['start'] = node['summary']!), 'start is'],
    ['another suspension', 'resume', ({ node }) => (node['suspension'] = node['answer']!), 'suspension is'],
    ['other usage of children', 'step', ({ node }) => (node['childUsage'] = { inputTokens: 1 }), 'childUsage is'],
    ['another child', 'step', ({ node }) => (node['childThreads'] = [node['previous']!]), 'childThreads is'],
    ['another reply', 'step', ({ node }) => (node['content'] = node['prompt']!), 'output.md is'],
    [
      'another role',
      'step',
      (draft) => (draft.message = draft.message.replace(/^Uwf-Role: .*/m, 'Uwf-Role: x')),
      'trailers',
    ],
    ['another next role', 'end', (draft) => (draft.message = `${draft.message}Uwf-Next: x\n`), 'trailers'],
  ])('%s (%s)', async (_what, kind, change, found) => {
    const { repository, ended } = await grow();
    const from = await lastOf(repository, ended, kind);
    const head = forge(repository, from, (draft) => {
      change(draft, repository);
    });
    const { code, stdout, stderr } = readByPython(layDown(repository, head));
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining(`commit ${head}: `),
    });
    expect(stderr).toContain(found);
  });

  test('each other total', async () => {
    const { repository, ended } = await grow();
    const { totals } = ended.head.kind === 'end' ? ended.head.node : {};
    const fields = Object.keys(totals ?? {});
    expect(fields).toContain('skips');
    for (const field of fields) {
      const head = forge(repository, ended.head.id, ({ node }) => {
        const told = node['totals'] as JsonObject;
        told[field] = another(told[field] ?? null);
      });
      const { code, stderr } = readByPython(layDown(repository, head));
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(`totals.${field} is`) });
    }
  });

  test('other bytes under the id of an object', async () => {
    const { repository, ended } = await grow();
    const head = ended.head.id;
    const dir = layDown(repository, head);
    expect(readByPython(dir)).toMatchObject({ code: 0, stderr: '' });
    const other = [...repository.objectMap].find(([, { type, data }]) => type === 'blob' && data.byteLength > 200);
    if (other === undefined) throw new Error('there is no such blob');
    const data = Buffer.from(other[1].data);
    data[100]! ^= 1;
    layObject(dir, other[0], { type: 'blob', data });
    const { code, stderr } = readByPython(dir);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(`the object ${other[0]} is`) });
  });

  async function grow(): Promise<{ repository: MapRepository; ended: ThreadState }> {
    await prepareHashing();
    const repository = createMapRepository();
    const [ended] = await growRichThread(repository);
    if (ended === undefined) throw new Error('there is no thread');
    return { repository, ended };
  }
});

/** The newest commit of a kind in a thread. */
async function lastOf(repository: MapRepository, { head }: ThreadState, kind: ThreadCommitKind): Promise<ObjectId> {
  for await (const commit of readChain(repository, head.id)) if (commit.kind === kind) return commit.id;
  throw new Error(`there is no ${kind}`);
}

/** Another value of a total. */
function another(value: JsonValue): JsonValue {
  if (typeof value === 'number') return value + 1;
  if (Array.isArray(value)) return value.slice(1);
  return value === null || typeof value === 'object' ? { ...value, turns: 99 } : 'f'.repeat(40);
}

/** Writes objects to a repository on disk, loose, with a thread that stands at one of them. */
function layDown({ objectMap }: MapRepository, head: ObjectId): string {
  const { dir, git } = createTemporaryRepository();
  for (const [id, object] of objectMap) layObject(dir, id, object);
  git('update-ref', activeRef(newThreadId({ now: () => 0 })), head);
  return dir;
}

function layObject(dir: string, id: ObjectId, object: GitObject): void {
  const path = join(dir, '.git/objects', id.slice(0, 2), id.slice(2));
  mkdirSync(dirname(path), { recursive: true });
  rmSync(path, { force: true });
  writeFileSync(
    path,
    deflateSync(Buffer.concat([Buffer.from(`${object.type} ${object.data.byteLength}\0`), object.data])),
  );
}
