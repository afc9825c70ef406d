import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { mismatch, parseConsole, substitute } from './console-block.ts';
import type { Captures } from './console-block.ts';
import { markdownBlocks } from './markdown-blocks.ts';
import type { MarkdownBlock } from './markdown-blocks.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const blocks = markdownBlocks(readFileSync(path.join(root, 'README.md'), 'utf8'));

/** The README is one session: what a block leaves, the next one finds. */
let folder: string;
let env: NodeJS.ProcessEnv;
const captures: Captures = new Map();

beforeAll(() => {
  execFileSync(process.execPath, [path.join(root, 'scripts/build.js'), '--quiet']);
  folder = mkdtempSync(path.join(tmpdir(), 'uwf-readme-'));
  env = {
    ...process.env,
    HOME: folder,
    PATH: `${path.join(root, 'bin')}${path.delimiter}${process.env['PATH'] ?? ''}`,
    GIT_AUTHOR_NAME: 'Ada',
    GIT_AUTHOR_EMAIL: 'ada@example.org',
    GIT_COMMITTER_NAME: 'Ada',
    GIT_COMMITTER_EMAIL: 'ada@example.org',
  };
  execFileSync('git', ['init', '--quiet', '--initial-branch=main'], { cwd: folder });
  // As `npm install uwf` would have it.
  mkdirSync(path.join(folder, 'node_modules'));
  symlinkSync(root, path.join(folder, 'node_modules/uwf'));
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** Blocks that show a file are written, console blocks and programs are run; all others are for reading. */
function isLive(block: MarkdownBlock): boolean {
  return block.file !== undefined || block.language === 'console' || block.language === 'js';
}

function runConsole(block: MarkdownBlock): void {
  for (const { command, expected, exitCode } of parseConsole(block.text)) {
    const line = substitute(command, captures);
    const result = spawnSync('sh', ['-c', `{ ${line}\n} 2>&1`], { cwd: folder, env, encoding: 'utf8', input: '' });
    const printed = result.stdout === '' ? [] : result.stdout.trimEnd().split('\n');
    const problem = mismatch(expected, printed, captures);
    if (problem !== undefined) expect.fail(`$ ${line}\n${problem}\n\nall that was printed:\n${result.stdout}`);
    expect(result.status, `$ ${line}\n${result.stdout}`).toBe(exitCode);
  }
}

function runProgram(block: MarkdownBlock): void {
  const result = spawnSync(process.execPath, ['--input-type=module', '-e', block.text], {
    cwd: folder,
    env,
    encoding: 'utf8',
  });
  expect(result.status, result.stderr).toBe(0);
}

test('the README shows something that can be run', () => {
  expect(blocks.filter(isLive).length).toBeGreaterThan(0);
});

// In order, each on what the one before has left.
test.each(blocks.filter(isLive))('README.md:$line, a block of $language, does what it says', (block) => {
  if (block.file !== undefined) {
    const file = path.join(folder, block.file);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, block.text);
  } else if (block.language === 'console') {
    runConsole(block);
  } else {
    runProgram(block);
  }
});
