import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { createCliRepository, createLoopRepository } from '../../helpers/cli.ts';
import { expectCleanFsck, runGit } from '../../helpers/temporary-repository.ts';

type Put = { hash: string; oid: string };

describe('without a thread', () => {
  test('what is put can be got, listed and taken back', async () => {
    const { dir, uwf, json, git } = createCliRepository();
    const { hash, oid } = (await json(['cas', 'put', 'a text\n'])) as Put;
    expect(git('cat-file', 'blob', oid)).toBe('a text');
    expect(await uwf(['cas', 'get', hash])).toMatchObject({ code: 0, stdout: 'a text\n' });
    expect(await uwf(['cas', 'get', hash.slice(0, 6).toLowerCase()])).toMatchObject({ stdout: 'a text\n' });
    expect(await json(['cas', 'get', hash])).toEqual({
      hash,
      oid,
      type: expect.any(String),
      typeName: 'content',
      payload: { text: 'a text\n' },
    });
    expect(await json(['cas', 'list'])).toEqual([{ hash, oid, type: 'content', title: 'a text', step: null }]);
    expect(await json(['cas', 'has', hash])).toEqual({ hash, exists: true, oid });
    git('gc', '--quiet', '--prune=now');
    expect(await uwf(['cas', 'rm', hash])).toMatchObject({ code: 0, stdout: `removed ${hash}\n` });
    expect(await uwf(['cas', 'has', hash])).toMatchObject({ code: 1, stdout: '' });
    expect(await uwf(['cas', 'rm', hash])).toMatchObject({ code: 1 });
    expect(await uwf(['cas', 'list'])).toMatchObject({ code: 0, stdout: '' });
    expectCleanFsck(dir);
  });

  test('a text twice as large as the largest node is refused before it is read to its end', async () => {
    const { dir, uwf, says, json } = createCliRepository();
    const file = join(dir, 'large.txt');
    writeFileSync(file, '');
    truncateSync(file, 200 * 1024 * 1024);
    const read = vi.spyOn(TextDecoder.prototype, 'decode');
    const larger = 'cannot be stored as a node: it has 209715200 bytes, more than the 16777216 of the largest';
    await says(`cas put --file ${file}`, 1, larger);
    const longest = Math.max(0, ...read.mock.calls.map(([bytes]) => bytes?.byteLength ?? 0));
    read.mockRestore();
    expect(longest).toBeLessThan(1024 * 1024);
    const input = 'a'.repeat(33 * 1024 * 1024);
    const more = 'it has more than 33554432 bytes, more than the 16777216 of the largest';
    expect(await uwf(['cas', 'put', '-'], { input })).toMatchObject({ code: 1, stderr: expect.stringContaining(more) });
    expect(await json(['cas', 'list'])).toEqual([]);
  });

  test('a text that names a file is said to be a text, but not one that is empty or names a folder', async () => {
    const { uwf, write } = createCliRepository();
    write('docs/notes.md', 'x');
    const told = "there is a file 'docs/notes.md'; what was stored is its name";
    expect((await uwf(['cas', 'put', 'docs/notes.md'])).stderr).toContain(told);
    for (const text of ['', 'docs', '.', 'x'.repeat(5000)])
      expect(await uwf(['cas', 'put', text])).toMatchObject({ code: 0, stderr: '' });
  });

  test('a text comes from the command line, from stdin or from a file, as it is', async () => {
    const { uwf, json, write } = createCliRepository();
    write('notes.md', '# Notes\r\n');
    const texts = [
      { argv: ['@x'], input: '', text: '@x' },
      { argv: ['--', '--json'], input: '', text: '--json' },
      { argv: ['-'], input: 'é\n', text: 'é\n' },
      { argv: ['--file', 'notes.md'], input: '', text: '# Notes\r\n' },
      { argv: ['-F', '-'], input: 'x', text: 'x' },
    ];
    for (const { argv, input, text } of texts) {
      const { stdout } = await uwf(['cas', 'put', ...argv], { input });
      expect((await uwf(['cas', 'get', stdout.trim()])).stdout).toBe(text);
    }
    expect(await uwf(['cas', 'put', 'notes.md'])).toMatchObject({ code: 0, stderr: expect.stringContaining('--file') });
    expect(await uwf(['cas', 'put'])).toMatchObject({ code: 2 });
    expect(await json(['cas', 'put', 'once'])).toEqual(await json(['cas', 'put', 'once']));
  });

  test('cat gives the very bytes that git has', async () => {
    const { dir, uwf, json, write } = createCliRepository();
    write('schema.json', JSON.stringify({ type: 'object', properties: { b: { type: 'number' }, a: {} } }));
    const { hash: type } = (await json(['schema', 'put', 'schema.json'])) as Put;
    const { hash, oid } = (await json(['cas', 'put', '{"b":1e2,"a":[]}', '--type', type])) as Put;
    const { stdout } = await uwf(['cas', 'cat', hash]);
    expect(runGit(dir, ['hash-object', '--stdin'], stdout)).toBe(oid);
    expect(JSON.parse((await uwf(['cas', 'get', hash])).stdout)).toEqual({ a: [], b: 100 });
  });

  test.each(['cat', 'get'])('%s ends its line on a terminal, and adds nothing in a pipe', async (verb) => {
    const { uwf, json } = createCliRepository();
    const { hash } = (await json(['cas', 'put', 'ok'])) as Put;
    expect((await uwf(['cas', verb, hash])).stdout).toBe('ok');
    expect((await uwf(['cas', verb, hash], { isTTY: true })).stdout).toBe('ok\n');
  });
});

describe('values of a type', () => {
  const schema = JSON.stringify({
    type: 'object',
    properties: { next: { type: 'string', format: 'cas_ref' } },
    required: ['next'],
  });

  test('are checked, and their links are followed', async () => {
    const { uwf, says, json, lines, write } = createCliRepository();
    write('schema.json', schema);
    const { hash: type } = (await json(['schema', 'put', 'schema.json'])) as Put;
    const { hash: text } = (await json(['cas', 'put', 'the end'])) as Put;
    const { hash } = (await json(['cas', 'put', JSON.stringify({ next: text }), '--type', type.slice(0, 8)])) as Put;
    expect(await json(['cas', 'refs', hash])).toEqual([{ hash: text, type: 'content', title: 'the end' }]);
    expect((await lines(['cas', 'walk', hash])).map((node) => node['hash'])).toEqual([hash, text]);
    await says(`cas put {} --type ${type}`, 1, 'next');
    await says(`cas put {"next":"0000000000000"} --type ${type}`, 1, '0000000000000');
    expect(await uwf(['cas', 'put', 'no json', '--type', type])).toMatchObject({ code: 2 });
    await says('cas put {} --type artifcat', 2, "did you mean 'artifact'?");
    expect(await json(['schema', 'list'])).toContainEqual({ hash: type, name: null, description: '' });
    expect(await json(['schema', 'show', type])).toEqual({
      hash: type,
      name: null,
      schema: JSON.parse(schema) as object,
    });
    expect(await json(['schema', 'show', 'content'])).toMatchObject({ name: 'content' });
  });

  test('a schema that is none is refused', async () => {
    const { uwf, git } = createCliRepository();
    expect(await uwf(['schema', 'put', '-'], { input: '{"type":"strin"}' })).toMatchObject({ code: 1 });
    expect(await uwf(['schema', 'put', '-'], { input: '{' })).toMatchObject({ code: 2 });
    expect(git('for-each-ref')).toBe('');
  });
});

describe('under a thread', () => {
  test('what is put waits for the next step and then belongs to it', async () => {
    const { uwf, json } = createLoopRepository();
    const { thread } = (await json(['thread', 'start', 'loop', '-p', 'x'])) as { thread: string };
    const env = { UWF_THREAD: thread };
    const { hash, oid } = (await json(['cas', 'put', 'a phase'], { env })) as Put;
    expect(await json(['cas', 'list', '-t', thread])).toEqual([
      { hash, oid, type: 'content', title: 'a phase', step: null, referrers: [] },
    ]);
    expect(await json(['cas', 'list'])).toEqual([]);
    await uwf(['thread', 'step', thread]);
    const [{ step }] = (await json(['step', 'list', thread])) as [{ step: string }];
    expect(await json(['cas', 'list'], { env })).toMatchObject([{ hash, step }]);
    expect(await json(['step', 'show', step])).toMatchObject({ artifacts: [hash] });
    expect(await uwf(['cas', 'rm', hash], { env })).toMatchObject({ code: 5, stderr: expect.stringContaining(step) });
  });

  test('a walk of the thread meets every node of its commits, the schemas in its start included', async () => {
    const { lines, json, uwf } = createLoopRepository();
    const { thread } = (await json(['thread', 'start', 'loop', '-p', 'the task'])) as { thread: string };
    await uwf(['thread', 'run', thread]);
    const nodes = await lines(['cas', 'walk', thread.slice(0, 22)]);
    expect(nodes[0]).toMatchObject({ type: 'thread-end' });
    const types = nodes.map(({ type }) => type);
    expect(types.filter((type) => type === 'thread-step')).toHaveLength(4);
    expect(new Set(types)).toEqual(
      new Set([
        'thread-end',
        'thread-step',
        'thread-start',
        'workflow',
        'role',
        'role-schema',
        'agent',
        'content',
        'meta-schema',
      ]),
    );
    expect(nodes).toContainEqual(expect.objectContaining({ type: 'content', title: 'the task' }));
    expect(new Set(nodes.map(({ hash }) => hash)).size).toBe(nodes.length);
  });

  test('reindex finds everything again', async () => {
    const { json, uwf } = createLoopRepository();
    await uwf(['run', 'loop', '-p', 'x']);
    expect(await json(['reindex'])).toMatchObject({ commits: 6, nodes: expect.any(Number) });
  });
});
