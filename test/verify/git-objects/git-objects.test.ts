import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { hashObject, type GitObject, type ObjectId } from '../../../src/git/format/object-id.ts';
import { faultOfCommit } from '../../../src/verify/git-objects/commit-object.ts';
import { faultOfSpecialFile } from '../../../src/verify/git-objects/special-files.ts';
import { readForeignTree } from '../../../src/verify/git-objects/tree-entries.ts';
import { createTemporaryRepository, isolatedGitEnvironment } from '../../helpers/temporary-repository.ts';

const blob: GitObject = { type: 'blob', data: Buffer.from('a\n') };
const blobId = hashObject(blob);
const empty: GitObject = { type: 'tree', data: Buffer.alloc(0) };
const emptyId = hashObject(empty);

function write(dir: string, object: GitObject): ObjectId {
  const id = hashObject(object);
  const folder = join(dir, '.git/objects', id.slice(0, 2));
  mkdirSync(folder, { recursive: true });
  const bytes = Buffer.concat([Buffer.from(`${object.type} ${object.data.byteLength}\0`), object.data]);
  writeFileSync(join(folder, id.slice(2)), deflateSync(bytes), { flag: 'a' });
  return id;
}

/** The objects of these that `git fsck --strict` calls errors, all looked at in one repository. */
function faultyByGit(objects: readonly GitObject[]): Set<ObjectId> {
  const { dir } = createTemporaryRepository();
  for (const object of new Map([blob, empty, ...objects].map((one) => [hashObject(one), one])).values())
    write(dir, object);
  const { stdout, stderr } = spawnSync('git', ['fsck', '--strict', '--no-dangling'], {
    cwd: dir,
    env: isolatedGitEnvironment,
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  });
  // The pattern asks for an id.
  return new Set(
    [
      ...`${stdout}${stderr}`.matchAll(
        /^error(?: in \w+|: bogus commit object|: bad parents in commit) ([0-9a-f]{40})/gm,
      ),
    ].map(([, id]) => id as ObjectId),
  );
}

function tree(...lines: [mode: string, name: string | Buffer, id?: ObjectId][]): GitObject {
  const parts = lines.map(([mode, name, id = mode === '40000' ? emptyId : blobId]) =>
    Buffer.concat([Buffer.from(`${mode} `), Buffer.from(name), Buffer.from([0]), Buffer.from(id, 'hex')]),
  );
  return { type: 'tree', data: Buffer.concat(parts) };
}

const names = (
  'a|.|..|...|.git|.GIT|.gIt|git|git~1|GIT~1|git~2|.git |.git.|.git...|.git . .|.git:x|.git::$INDEX_ALLOCATION|.git\\x|a\\.git|' +
  'a\\.git\\b|a\\git~1|git~1:x|.gitx|x.git|.git\u200c|.g\u200dit|\ufeff.git|.gi\u206at|.git\u2028|a/b|/|a/|ä|a b|a\nb|.gitfoo|-a|~|git~10'
).split('|');

describe('names and modes of a tree are faults where git calls them that', () => {
  test.each([['100644'], ['40000'], ['120000']])('with the mode %s', (mode) => {
    const trees = [...names, Buffer.from([0x2e, 0x67, 0x69, 0x74, 0xff]), Buffer.from([0xff])].map((name) =>
      tree([mode, name]),
    );
    const byGit = faultyByGit(trees);
    const byUs = trees
      .filter(({ data }) => typeof readForeignTree(data, 20) === 'string')
      .map((one) => hashObject(one));
    expect(byUs.filter((id) => id !== hashObject(tree([mode, '']))).toSorted()).toEqual([...byGit].toSorted());
    expect(byGit.size).toBeGreaterThan(15);
  });

  test('whatever the mode, and whatever the order', () => {
    const trees = [
      tree(['100644', 'a'], ['100644', 'b']),
      tree(['100644', 'b'], ['100644', 'a']),
      tree(['100644', 'a'], ['100644', 'a']),
      tree(['100644', 'a'], ['40000', 'a']),
      tree(['100644', 'a'], ['100644', 'a.b'], ['40000', 'a']),
      tree(['40000', 'a'], ['100644', 'a.b']),
      tree(['100644', 'a.b'], ['40000', 'a']),
      tree(['40000', 'a'], ['100644', 'a0']),
      tree(['040000', 'a']),
      tree(['0100644', 'a']),
      tree(['100755', 'a']),
      tree(['160000', 'a', blobId]),
      tree(['100644', 'a', '0'.repeat(40) as ObjectId]),
      tree(['120000', '.gitmodules']),
      tree(['120000', '.GITMODULES ']),
      tree(['120000', 'gitmod~1']),
      tree(['120000', 'gitmod~5']),
      tree(['120000', 'gi7eba~1']),
      tree(['120000', 'gi7e~123']),
      tree(['120000', '.gitmodules\u200c']),
    ];
    const byGit = faultyByGit(trees);
    const byUs = trees
      .filter(({ data }) => typeof readForeignTree(data, 20) === 'string')
      .map((one) => hashObject(one));
    expect(byUs.toSorted()).toEqual([...byGit].toSorted());
    expect(byGit.size).toBeGreaterThan(10);
  });

  test('a mode that git merely warns of is one here', () => {
    for (const mode of ['100664', '100600', '100777']) {
      expect(readForeignTree(tree([mode, 'a']).data, 20)).toContain('has the mode');
    }
  });
});

describe('a commit is a fault where git calls it that', () => {
  const who = 'A U Thor <author@example.com> 1795262400 +0000';
  const head = (author: string, committer = who): string =>
    `tree ${emptyId}\nauthor ${author}\ncommitter ${committer}\n`;
  test('whatever is wrong with it', () => {
    const texts = [
      `${head(who)}\nmessage\n`,
      `${head(who)}gpgsig x\n y\n\nmessage\n`,
      `${head(who)}encoding latin1\n\nmessage\n`,
      `${head('A <> 0 +0000')}\nno address\n`,
      `${head(' <a> 1 -1200')}\nno name but a space\n`,
      `${head('<a> 1 +0000')}\nno name\n`,
      `${head('A<a> 1 +0000')}\nno space\n`,
      `${head('A > <a> 1 +0000')}\nbad name\n`,
      `${head('A <a <b> 1 +0000')}\nbad address\n`,
      `${head('A a 1 +0000')}\nno address\n`,
      `${head('A <a>1 +0000')}\nno space before the date\n`,
      `${head('A <a> 01 +0000')}\nzero\n`,
      `${head('A <a> x +0000')}\nno date\n`,
      `${head('A <a> 99999999999999999999 +0000')}\nlate\n`,
      `${head('A <a> 1 0000')}\nno sign\n`,
      `${head('A <a> 1 +00000')}\nlong zone\n`,
      `${head('A <a> 1 +0000 ')}\nsomething behind\n`,
      `${head(who, 'A <a> 1')}\nno zone\n`,
      `${head(who)}\na\0b\n`,
      `author ${who}\ncommitter ${who}\n\nno tree\n`,
      `tree ${emptyId}\ncommitter ${who}\n\nno author\n`,
      `tree ${emptyId}\nauthor ${who}\n\nno committer\n`,
      `tree ${emptyId}\nauthor ${who}\nauthor ${who}\ncommitter ${who}\n\ntwo authors\n`,
      `tree ${emptyId.slice(1)}\nauthor ${who}\ncommitter ${who}\n\nshort tree\n`,
      `tree ${emptyId}\nparent x\nauthor ${who}\ncommitter ${who}\n\nbad parent\n`,
    ];
    const commits = texts.map((text): GitObject => ({ type: 'commit', data: Buffer.from(text) }));
    const byGit = faultyByGit(commits);
    const byUs = commits.filter(({ data }) => faultOfCommit(data, 40) !== undefined);
    const differing = commits.filter((one) => byGit.has(hashObject(one)) !== byUs.includes(one));
    expect(differing.map(({ data }) => Buffer.from(data).toString())).toEqual([]);
    expect(byGit.size).toBeGreaterThan(15);
  });
});

describe('.gitmodules and .gitattributes', () => {
  const modules = (lines: string): string => `[submodule "a"]\n\tpath = a\n${lines}\n`;
  test('are faults wherever git calls them that', () => {
    const texts = [
      modules('url = https://example.com/a'),
      modules('url = ../a'),
      modules('url = git@example.com:a.git'),
      modules('url = -u./evil'),
      modules('url = "-u./evil"'),
      modules('url = \\\n-u./evil'),
      modules('url = https://example.com/%0ahost=evil'),
      modules('url = http://'),
      modules('url = http:///x'),
      modules('url = "https://a\\nb"'),
      modules('url = ../:x'),
      modules('url = ./%0ahost=evil'),
      modules('update = !rm'),
      modules('update = checkout'),
      modules('path = -x'),
      '[submodule "../x"]\n\turl = a\n',
      '[submodule "a/../x"]\n\turl = a\n',
      '[submodule "a\\\\..\\\\x"]\n\turl = a\n',
      '[submodule ""]\n\turl = a\n',
      '[submodule "a..b"]\n\turl = a\n',
      '[submodule "a"] url = -x\n',
      '[SubModule "a"]\n\tURL = -x\n',
      'no configuration',
    ];
    const files = texts.map((text): GitObject => ({ type: 'blob', data: Buffer.from(text) }));
    const trees = files.map((file) => tree(['100644', '.gitmodules', hashObject(file)]));
    const byGit = faultyByGit([...files, ...trees]);
    const missed = files.filter((one) => byGit.has(hashObject(one)) && !faultOfSpecialFile('gitmodules', one.data));
    expect(missed.map(({ data }) => Buffer.from(data).toString())).toEqual([]);
    expect(byGit.size).toBeGreaterThan(8);
    const sound = files.filter((one) => !byGit.has(hashObject(one)) && faultOfSpecialFile('gitmodules', one.data));
    expect(sound.map(({ data }) => Buffer.from(data).toString())).toEqual([]);
  });

  test('with a line that is too long are faults', () => {
    const files = [2047, 2048].map((length) => Buffer.from(`${'a'.repeat(length)}\n`));
    expect(files.map((data) => faultOfSpecialFile('gitattributes', data) === undefined)).toEqual([true, false]);
  });
});
