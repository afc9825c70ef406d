import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { removeFolder } from '../helpers/remove-folder.ts';
import { mismatch, parseConsole, substitute } from './console-block.ts';
import type { Captures } from './console-block.ts';
import { markdownBlocks } from './markdown-blocks.ts';
import type { MarkdownBlock } from './markdown-blocks.ts';

/** The folder of uwf's package.json. */
export const root: string = fileURLToPath(new URL('../..', import.meta.url));

/** Blocks that show a file are written, console blocks and programs are run; all others are for reading. */
function isLive(block: MarkdownBlock): boolean {
  return block.file !== undefined || block.language === 'console' || block.language === 'js';
}

/**
 * Registers a test for each live block of a document, in order: the document is one session in a repository of its own,
 * and what a block leaves, the next one finds. What ships of uwf is built before, and `uwf` is on the PATH.
 * @param document relative to {@link root}
 * @param setUp puts into the repository what the document takes for granted
 * @param variables of the environment that its reader has set
 */
export function testDocument(
  document: string,
  setUp: (folder: string) => void,
  variables: NodeJS.ProcessEnv = {},
): void {
  const blocks = markdownBlocks(readFileSync(path.join(root, document), 'utf8'));
  const captures: Captures = new Map();
  let session: Session;

  beforeAll(() => {
    execFileSync(process.execPath, [path.join(root, 'scripts/build.js'), '--quiet']);
    const folder = mkdtempSync(path.join(tmpdir(), 'uwf-docs-'));
    execFileSync('git', ['init', '--quiet', '--initial-branch=main'], { cwd: folder });
    setUp(folder);
    session = { folder, env: { ...environment(folder), ...variables }, captures };
  });

  afterAll(() => {
    removeFolder(session.folder);
  });

  test(`${document} shows something that can be run`, () => {
    expect(blocks.filter(isLive).length).toBeGreaterThan(0);
  });

  test.each(blocks.filter(isLive))(`${document}:$line, a block of $language, does what it says`, (block) => {
    runBlock(block, session);
  });
}

type Session = { folder: string; env: NodeJS.ProcessEnv; captures: Captures };

function environment(folder: string): NodeJS.ProcessEnv {
  // A document may run tests of its own; they are no part of the test that runs now, and print without its colours.
  const inherited = Object.entries(process.env).filter(([name]) => !/^(?:VITEST|FORCE_COLOR$)/.test(name));
  return {
    ...Object.fromEntries(inherited),
    NO_COLOR: '1',
    npm_config_offline: 'true',
    HOME: folder,
    PATH: `${path.join(root, 'bin')}${path.delimiter}${process.env['PATH'] ?? ''}`,
    GIT_AUTHOR_NAME: 'Ada',
    GIT_AUTHOR_EMAIL: 'ada@example.org',
    GIT_COMMITTER_NAME: 'Ada',
    GIT_COMMITTER_EMAIL: 'ada@example.org',
  };
}

function runBlock(block: MarkdownBlock, session: Session): void {
  if (block.file !== undefined) {
    const file = path.join(session.folder, block.file);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, block.text);
  } else if (block.language === 'console') {
    runConsole(block, session);
  } else {
    runProgram(block, session);
  }
}

function runConsole(block: MarkdownBlock, { folder, env, captures }: Session): void {
  for (const { command, expected, exitCode } of parseConsole(block.text)) {
    const line = substitute(command, captures);
    const result = spawnSync('sh', ['-c', `{ ${line}\n} 2>&1`], { cwd: folder, env, encoding: 'utf8', input: '' });
    const printed = result.stdout === '' ? [] : result.stdout.trimEnd().split('\n');
    const problem = mismatch(expected, printed, captures);
    if (problem !== undefined) expect.fail(`$ ${line}\n${problem}\n\nall that was printed:\n${result.stdout}`);
    expect(result.status, `$ ${line}\n${result.stdout}`).toBe(exitCode);
  }
}

function runProgram(block: MarkdownBlock, { folder, env }: Session): void {
  const result = spawnSync(process.execPath, ['--input-type=module', '-e', block.text], {
    cwd: folder,
    env,
    encoding: 'utf8',
  });
  // A line of a bundle is as long as the bundle.
  expect(result.status, result.stderr.replaceAll(/[^\n]{500,}/g, '…')).toBe(0);
}
