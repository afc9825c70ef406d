import { cpSync, existsSync, linkSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';

import type { AgentRequest } from '../../../src/agent/contract.ts';
import type { JsonObject } from '../../../src/json.ts';
import {
  createTemporaryFolder,
  createTemporaryRepository,
  isolatedGitEnvironment,
  type TemporaryRepository,
  temporaryRepositoryAt,
} from '../../helpers/temporary-repository.ts';
import { callTool, type ToolTurn } from './tool-turn.ts';

const PASSWORD = 'hunter2-in-the-address';
const env = { ...isolatedGitEnvironment };

let repository: TemporaryRepository;
let cwd: string;

/** A clone with a password in its remote's URL. It is made once, and each test that changes something has a copy. */
let original: TemporaryRepository;
beforeAll(() => {
  original = createTemporaryRepository();
  original.git('commit', '-q', '--allow-empty', '-m', 'first');
  original.git('remote', 'add', 'origin', `https://me:${PASSWORD}@example.com/x.git`);
});

function useCopy(): void {
  const dir = createTemporaryFolder();
  cpSync(original.dir, dir, { recursive: true });
  repository = temporaryRepositoryAt(dir);
  cwd = dir;
}

function write(path: string, text: string): void {
  mkdirSync(dirname(join(cwd, path)), { recursive: true });
  writeFileSync(join(cwd, path), text);
}

function run(name: string, input: JsonObject, more: Partial<AgentRequest> = {}): Promise<ToolTurn> {
  return callTool(name, input, { cwd, env, ...more });
}

/** What each tool is called with, beside the path. */
const tools: [string, JsonObject][] = [
  ['read_file', {}],
  ['write_file', { content: '[core]\n\tfsmonitor = evil\n' }],
  ['edit_file', { old: '[core]', new: '[evil]' }],
  ['list', { depth: 5 }],
  ['search', { pattern: PASSWORD }],
];

describe('what belongs to git', () => {
  const configs = ['.git/config', 'bare.git/config', 'store/config', 'linked/.git'];
  const textsOf = (): string[] => configs.map((path) => readFileSync(join(cwd, path), 'utf8'));
  let before: string[];

  // All tests have the same one, because none of them may change it.
  beforeAll(() => {
    useCopy();
    mkdirSync(join(cwd, 'a'));
    mkdirSync(join(cwd, 'inner'));
    repository.git('worktree', 'add', '-q', 'linked');
    repository.git('clone', '-q', '--bare', '.', 'bare.git');
    repository.git('-C', 'bare.git', 'config', 'x.password', PASSWORD);
    repository.git('init', '-q', '--separate-git-dir=store', 'inner');
    repository.git('-C', 'inner', 'config', 'x.password', PASSWORD);
    symlinkSync('.git', join(cwd, 'link'));
    symlinkSync('.git/config', join(cwd, 'file-link'));
    linkSync(join(cwd, '.git/config'), join(cwd, 'second-name'));
    before = textsOf();
  });

  describe.each(tools)('%s', (name, rest) => {
    test.each([
      '.git/config',
      '.GIT/config',
      'a/../.git/config',
      './/.git/./config',
      '<cwd>/.git/config',
      '.git',
      'link/config',
      'file-link',
      'second-name',
      'linked/.git',
      'store/config',
      'bare.git/config',
      'inner/../bare.git/config',
    ])('does not touch %s', async (way) => {
      const { result, isError, refusals, events } = await run(name, { path: way.replace('<cwd>', cwd), ...rest });
      expect(result).not.toContain(PASSWORD);
      expect(textsOf()).toEqual(before);
      // A file by another name is left out of a search, and is no folder to list.
      if (way !== 'second-name' || !['search', 'list'].includes(name))
        expect({ isError, refusals: refusals.length }).toEqual({ isError: true, refusals: 1 });
      expect(events).toContainEqual(expect.objectContaining({ kind: 'tool-result', result }));
    });
  });
});

test('list and search leave out what is guarded, wherever they begin', async () => {
  useCopy();
  repository.git('clone', '-q', '--bare', '.', 'fixtures/bare');
  repository.git('-C', 'fixtures/bare', 'config', 'x.password', PASSWORD);
  repository.git('init', '-q', 'sub');
  repository.git('-C', 'sub', 'config', 'x.password', PASSWORD);
  repository.git('config', 'include.path', '../team.gitconfig');
  write('team.gitconfig', `[x]\n\tpassword = ${PASSWORD}\n`);
  linkSync(join(cwd, '.git/config'), join(cwd, 'second-name'));
  write('sub/file', 'x');
  expect((await run('search', { pattern: PASSWORD })).result).toBe('[nothing matches]');
  expect((await run('list', { depth: 9 })).result).toBe('fixtures/\nsecond-name\nsub/\nsub/file');
});

test('a repository is not made piece by piece', async () => {
  useCopy();
  for (const [path, content] of Object.entries({
    'docs/config': '[core]\n\tfsmonitor = "touch made"\n\tbare = false\n\tworktree = .\n',
    'docs/objects/x': 'x',
    'docs/refs/x': 'x',
  })) {
    expect(await run('write_file', { path, content })).toMatchObject({ isError: false });
  }
  expect(await run('write_file', { path: 'docs/HEAD', content: 'ref: refs/heads/x\n' })).toMatchObject({
    isError: true,
    refusals: [expect.stringContaining('belongs to git')],
  });
  expect(existsSync(join(cwd, 'docs/HEAD'))).toBe(false);
});

describe.each(['.uwf/config.yaml', '.UWF/config.yaml', 'sub/.uwf/x', '.husky/pre-commit', 'tools/hooks/pre-push'])(
  'to write %s',
  (path) => {
    beforeEach(() => {
      useCopy();
      repository.git('config', 'core.hooksPath', 'tools/hooks');
    });

    function attempt(askPerson?: AgentRequest['askPerson']): Promise<ToolTurn> {
      return run('write_file', { path, content: 'agents: {}' }, { askPerson });
    }

    test('nobody may without a person', async () => {
      const { isError, result, refusals } = await attempt();
      expect({ isError, refusals }).toEqual({
        isError: true,
        refusals: [expect.stringContaining('no person is there')],
      });
      expect(result).toContain('without the word of a person');
      expect(existsSync(join(cwd, path))).toBe(false);
    });

    test.each(['', 'n', 'no', 'maybe', 'yes please'])('a person who says %j has denied it', async (answer) => {
      const { isError, refusals } = await attempt(() => Promise.resolve(answer));
      expect({ isError, refusals }).toEqual({ isError: true, refusals: [expect.stringContaining('denied')] });
      expect(existsSync(join(cwd, path))).toBe(false);
    });

    test('a person may allow it, and is told what', async () => {
      const questions: string[] = [];
      const { isError } = await attempt((question) => (questions.push(question), Promise.resolve('y')));
      expect(isError).toBe(false);
      expect(questions).toEqual([expect.stringContaining(`write ${path}`)]);
      expect(readFileSync(join(cwd, path), 'utf8')).toBe('agents: {}');
    });

    test('reading it asks nobody', async () => {
      write(path, 'text');
      expect(await run('read_file', { path })).toMatchObject({ result: 'text', refusals: [] });
    });
  },
);
