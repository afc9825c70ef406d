import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

type Install = (folder: string, options: { what: string; flags?: string[] }) => 'there' | 'installed' | 'failed';

// Plain JavaScript: it has to run before anything is installed.
const script = new URL('../../scripts/install-packages.js', import.meta.url).href;
const { installPackages } = (await import(script)) as { installPackages: Install };

const shared = { what: 'what is shared' };
let root: string;
let folder: string;

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'uwf-install-'));
  folder = path.join(root, 'project');
  mkdirSync(folder);
  writeFileSync(path.join(folder, 'package-lock.json'), '{}');
  // Stands for npm, and tells what it was asked for.
  const npm = path.join(root, 'npm.js');
  writeFileSync(npm, `require('node:fs').writeFileSync('asked', process.argv.slice(2).join(' '));\n`);
  vi.stubEnv('npm_execpath', npm);
  vi.spyOn(process.stderr, 'write').mockReturnValue(true);
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  rmSync(root, { recursive: true, force: true });
});

function asked(): string | undefined {
  const file = path.join(folder, 'asked');
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}

test('what is missing is installed as the lockfile says', () => {
  expect(installPackages(folder, { ...shared, flags: ['--ignore-scripts'] })).toBe('installed');
  expect(asked()).toBe('ci --no-audit --no-fund --ignore-scripts');
});

test('what was installed after the lockfile was written is left as it is', () => {
  mkdirSync(path.join(folder, 'node_modules'));
  writeFileSync(path.join(folder, 'node_modules/.package-lock.json'), '{}');
  utimesSync(path.join(folder, 'package-lock.json'), 1, 1);
  expect(installPackages(folder, shared)).toBe('there');
  expect(asked()).toBeUndefined();
});

test('nothing is installed through a link, by which npm would empty what others use', () => {
  const others = path.join(root, 'others');
  mkdirSync(others);
  symlinkSync(others, path.join(folder, 'node_modules'));
  expect(installPackages(folder, shared)).toBe('failed');
  expect(asked()).toBeUndefined();
});

test('an npm that fails is said to have failed', () => {
  writeFileSync(path.join(root, 'npm.js'), 'process.exit(1);\n');
  expect(installPackages(folder, shared)).toBe('failed');
});
