import { describe, expect, test } from 'vitest';
import { ObjectTooLarge } from '../../src/git/format/errors.ts';
import type { ObjectId } from '../../src/git/format/object-id.ts';
import type { TreeEntry } from '../../src/git/format/objects.ts';
import { ObjectBatch } from '../../src/git/stores/publish.ts';
import type { ObjectReader } from '../../src/git/stores/read.ts';
import { createRedactor } from '../../src/redaction/create-redactor.ts';
import { prepareHashing } from '../../src/cas/hash.ts';
import type { StoredNode } from '../../src/cas/node.ts';
import { contentNode, MAX_FILE_BYTES } from '../../src/thread/draft-commit.ts';
import { SecretScan } from '../../src/thread/secret-scan.ts';

const secret = 'correct horse battery staple';
const redactor = createRedactor({
  key: Buffer.alloc(32, 1),
  known: [secret],
  rules: [{ name: 'acme-token', pattern: 'acme-[0-9]{6}' }],
  allow: [{ rule: 'acme-token', path: 'fixtures/**' }],
});
const rule = redactor.redactText(secret).hits[0]?.rule ?? '';
const shownSecret = redactor.redactText(secret).text;
const absent = 'd'.repeat(40) as ObjectId;

type Files = { [name: string]: string | Uint8Array | Files | TreeEntry };

const batch = new ObjectBatch();
const isEntry = (value: Files[string]): value is TreeEntry => typeof value === 'object' && 'mode' in value;

/** Writes a tree: texts are files, objects are folders. */
function addTree(files: Files): ObjectId {
  return batch.addTree(
    Object.entries(files).map(([name, value]): TreeEntry => {
      if (typeof value === 'string' || value instanceof Uint8Array)
        return { mode: '100644', name, id: batch.addBlob(value) };
      return isEntry(value) ? value : { mode: '040000', name, id: addTree(value) };
    }),
  );
}

function addCommit(tree: ObjectId, message: string, parents: ObjectId[] = [], name = 'A'): ObjectId {
  const signature = { name, email: 'a@b', atMs: 0 };
  return batch.addCommit({ tree, parents, author: signature, committer: signature, message });
}

/** A scan with the list of the objects that it read. */
function startScan(): { scan: SecretScan; asked: ObjectId[] } {
  const asked: ObjectId[] = [];
  const objects: ObjectReader = {
    read: async (id) => {
      asked.push(id);
      return batch.find(id);
    },
  };
  return { scan: new SecretScan({ objects }, redactor), asked };
}

const filesWithSecrets = (files: Files, others: readonly ObjectId[] = []) =>
  startScan().scan.scanFiles(addTree(files), others);

describe('a scan of files', () => {
  test('tells the paths, lines and rules of secrets in files and folders, and nothing of others', async () => {
    const found = await filesWithSecrets({
      'a.txt': `one\n${secret}\n`,
      'b.txt': 'nothing',
      sub: { deep: { 'c.txt': `${secret}\nacme-123456` } },
    });
    expect(found).toEqual([
      { file: 'a.txt', at: 'line 2', rule },
      { file: 'sub/deep/c.txt', at: 'line 1', rule },
      { file: 'sub/deep/c.txt', at: 'line 2', rule: 'acme-token' },
    ]);
  });

  test('tells a secret in a name without the secret', async () => {
    expect(await filesWithSecrets({ [secret]: 'text' })).toEqual([{ file: shownSecret, at: 'name', rule }]);
    const inside = await filesWithSecrets({ [`my ${secret}`]: { 'a.txt': secret } });
    expect(inside.map(({ file, at }) => [file, at])).toEqual([
      [`my ${shownSecret}`, 'name'],
      [`my ${shownSecret}/a.txt`, 'name'],
      [`my ${shownSecret}/a.txt`, 'line 1'],
    ]);
  });

  test('passes what a rule allows by path, at each path where the same content is', async () => {
    const text = 'acme-123456';
    const found = await filesWithSecrets({ 'a.txt': text, fixtures: { 'a.txt': text }, 'z.txt': text });
    expect(found.map(({ file }) => file)).toEqual(['a.txt', 'z.txt']);
  });

  test('reads UTF-16, and bytes that are no UTF-8', async () => {
    const wide = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(secret, 'utf16le')]);
    const odd = Buffer.concat([Buffer.from([0xff, 0x00, 0xe9]), Buffer.from(`\n${secret}`)]);
    const found = await filesWithSecrets({ odd, wide, other: Buffer.from([0xfe, 0xff]) });
    expect(found.map(({ file, at }) => [file, at])).toEqual([
      ['odd', 'line 2'],
      ['wide', 'line 1'],
    ]);
  });

  test('reports a file that is too large to be scanned like one with a secret', async () => {
    const large = batch.addBlob('large');
    const objects: ObjectReader = {
      read: async (id, options) => {
        if (id === large && options?.maxBytes === MAX_FILE_BYTES)
          throw new ObjectTooLarge(id, MAX_FILE_BYTES + 1, MAX_FILE_BYTES);
        return batch.find(id);
      },
    };
    const found = await new SecretScan({ objects }, redactor).scanFiles(addTree({ 'a.bin': 'large' }), []);
    expect(found).toEqual([{ file: 'a.bin', at: 'line 1', rule: 'too-large-to-scan' }]);
  });

  test('fails where a file is missing, and passes the commits of submodules', async () => {
    await expect(filesWithSecrets({ gone: { mode: '100644', name: 'gone', id: absent } })).rejects.toThrow(absent);
    expect(await filesWithSecrets({ module: { mode: '160000', name: 'module', id: absent } })).toEqual([]);
  });

  test('passes what the same file has in another tree, and nothing else in it', async () => {
    const other = addTree({
      'a.txt': `old ${secret}`,
      sub: secret,
      'b.txt': 'old',
      gone: { mode: '160000', name: 'gone', id: absent },
    });
    const files = { 'a.txt': `new ${secret}\nacme-123456`, sub: { 'c.txt': secret }, 'b.txt': secret, gone: secret };
    expect(await filesWithSecrets(files, [other])).toEqual([
      { file: 'a.txt', at: 'line 2', rule: 'acme-token' },
      { file: 'b.txt', at: 'line 1', rule },
      { file: 'gone', at: 'line 1', rule },
      { file: 'sub/c.txt', at: 'line 1', rule },
    ]);
  });

  test('passes files that other trees have at the same path, and those only', async () => {
    const other = addTree({ 'a.txt': secret, sub: { 'b.txt': secret, 'c.txt': 'old' }, same: { 'd.txt': secret } });
    const second = addTree({ sub: { 'e.txt': `2 ${secret}` } });
    const files = {
      'a.txt': secret,
      'moved.txt': secret,
      same: { 'd.txt': secret },
      sub: { 'b.txt': secret, 'c.txt': `new ${secret}`, 'e.txt': `2 ${secret}` },
    };
    const found = await filesWithSecrets(files, [other, second]);
    expect(found.map(({ file }) => file)).toEqual(['moved.txt', 'sub/c.txt']);
    expect(await filesWithSecrets(files, [addTree(files)])).toEqual([]);
  });

  test('compares with no tree where the other has a file of the same name', async () => {
    const found = await filesWithSecrets({ sub: { 'a.txt': secret } }, [addTree({ sub: 'a file' })]);
    expect(found.map(({ file }) => file)).toEqual(['sub/a.txt']);
  });
});

describe('a scan that goes on', () => {
  test('reads what it found clean once, and tells secrets each time', async () => {
    const { scan, asked } = startScan();
    const clean = addTree({ 'clean.txt': 'clean', deep: { 'b.txt': 'clean too' } });
    const tree = addTree({ clean: { mode: '040000', name: 'clean', id: clean }, 'a.txt': secret });
    expect(await scan.scanFiles(tree, [])).toHaveLength(1);
    asked.length = 0;
    expect(await scan.scanFiles(tree, [])).toHaveLength(1);
    expect(asked).toEqual([tree, batch.addBlob(secret)]);
    asked.length = 0;
    expect(await scan.scanFiles(clean, [])).toEqual([]);
    expect(asked).toEqual([]);
  });

  test('does not take a folder for clean whose secrets are in a name, or that it compared with another', async () => {
    const named = addTree({ [`x ${secret}`]: 'clean', 'z.txt': 'clean' });
    const { scan } = startScan();
    expect(await scan.scanFiles(named, [])).toHaveLength(1);
    expect(await scan.scanFiles(named, [])).toHaveLength(1);
    const tree = addTree({ 'a.txt': secret });
    expect(await scan.scanFiles(tree, [addTree({ 'a.txt': secret, b: '' })])).toEqual([]);
    expect(await scan.scanFiles(tree, [])).toHaveLength(1);
  });
});

describe('a scan of code', () => {
  test('tells what a commit adds to its parents: lines of its message, its header, and files', async () => {
    const parent = addCommit(addTree({ 'old.txt': secret }), 'Begin');
    const tree = addTree({ 'old.txt': secret, 'new.txt': secret });
    const id = addCommit(tree, `Go on\n\nwith ${secret}\n`, [parent], secret);
    const found = await startScan().scan.scanCode(id);
    expect(found).toEqual([
      { commit: id, step: null, node: null, file: 'message', at: 'header', rule },
      { commit: id, step: null, node: null, file: 'message', at: 'header', rule },
      { commit: id, step: null, node: null, file: 'message', at: 'line 3', rule },
      { commit: id, step: null, node: null, file: 'new.txt', at: 'line 1', rule },
    ]);
  });

  test('takes all files for new where a parent is not there', async () => {
    const id = addCommit(addTree({ 'old.txt': secret }), 'Go on', [absent]);
    expect((await startScan().scan.scanCode(id)).map(({ file }) => file)).toEqual(['old.txt']);
  });
});

describe('a scan of a commit of uwf', () => {
  const scanCommit = (files: Files, code: readonly ObjectId[] = []) => {
    const tree = addTree(files);
    return startScan().scan.scanCommit({ id: addCommit(tree, 'A step'), tree, step: 2, nodes: [], code });
  };

  test('tells the secrets in the files that a step left, and in what is pinned, by their places', async () => {
    const snapshot = addCommit(addTree({ 'a.txt': secret }), 'files');
    const found = await scanCommit({ pinned: { 'b.json': secret }, 'output.md': secret }, [snapshot]);
    expect(found.map(({ file, step, node }) => [file, step, node])).toEqual([
      ['workspace/a.txt', 2, null],
      ['pinned/b.json', 2, null],
    ]);
  });

  test('passes files of the code that the step began with', async () => {
    const code = addCommit(addTree({ 'a.txt': secret }), 'Code', [], 'User');
    const snapshot = addCommit(addTree({ 'a.txt': secret, 'b.txt': secret }), 'files', [code]);
    const found = await scanCommit({}, [snapshot]);
    expect(found.map(({ file }) => file)).toEqual(['workspace/b.txt']);
  });

  test('tells what is pinned even where the code has it', async () => {
    const code = addCommit(addTree({ 'b.json': secret }), 'Code', [], 'User');
    const found = await scanCommit({ pinned: { 'b.json': secret } }, [code]);
    expect(found.map(({ file }) => file)).toEqual(['pinned/b.json']);
  });

  test('tells the secrets in its nodes, and in their paths only where one is', async () => {
    await prepareHashing();
    const tree = addTree({});
    const id = addCommit(tree, 'A step');
    const stored = (text: string): StoredNode => ({ ...contentNode(text), oid: batch.addBlob(text) });
    const [clean, bad] = [stored('clean'), stored(`one\n${secret}`)];
    const nodes: [string, StoredNode][] = [
      ['output.md', clean],
      [`roles/${secret}.md`, clean],
      ['prompt.md', bad],
    ];
    const found = await startScan().scan.scanCommit({ id, tree, step: null, nodes, code: [] });
    expect(found).toEqual([
      { commit: id, step: null, node: null, file: `roles/${shownSecret}.md`, at: 'line 1', rule },
      { commit: id, step: null, node: bad.hash, file: 'prompt.md', at: 'line 2', rule },
    ]);
  });
});

describe('an exception of the configuration', () => {
  const files = { fixtures: { 'a.txt': 'acme-123456' }, src: { 'b.txt': 'acme-654321' } };

  test('names the files of a work tree alike while they are recorded and in a step', async () => {
    const snapshot = addCommit(addTree(files), 'files');
    const step = addCommit(addTree({ 'reply.md': 'text' }), 'step', [snapshot]);
    const found = async (id: ObjectId, tree: ObjectId, code: ObjectId[]): Promise<string[]> =>
      (await startScan().scan.scanCommit({ id, tree, step: 1, nodes: [], code })).map(({ file }) => file);
    expect((await filesWithSecrets(files)).map(({ file }) => file)).toEqual(['src/b.txt']);
    expect(await found(step, addTree({ 'reply.md': 'text' }), [snapshot])).toEqual(['workspace/src/b.txt']);
  });
});
