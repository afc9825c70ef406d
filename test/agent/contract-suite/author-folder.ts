import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

import { createTemporaryFolder } from '../../helpers/temporary-repository.ts';

const root = resolve(import.meta.dirname, '../../..');

/** The sample package of the project. */
export const samplePackage: string = join(root, 'fixtures/packages/uwf-agent-sample');

/** The folder of somebody who writes an agent, with uwf and vitest installed. */
export type AuthorFolder = {
  dir: string;
  /** Runs the tests that are there, as `vitest run` does; the outcome of each by its full name. */
  runTests(): { outcomes: Record<string, string>; report: string };
};

/** Builds what ships of uwf; it has to be called before {@link createAuthorFolder}. */
export function buildUwf(): void {
  execFileSync(process.execPath, [join(root, 'scripts/build.js'), '--quiet']);
}

/** @param files by path, beside a copy of the files in `from` */
export function createAuthorFolder(files: Record<string, string>, from?: string): AuthorFolder {
  const dir = createTemporaryFolder();
  if (from !== undefined) cpSync(from, dir, { recursive: true });
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), text);
  }
  installUwf(dir);
  return { dir, runTests: () => runTests(dir) };
}

/** As npm would have it: what ships of uwf in a folder of its own, what it depends on where it is found. */
function installUwf(dir: string): void {
  const installed = join(dir, 'node_modules/uwf');
  for (const part of ['package.json', 'bin', 'dist']) {
    cpSync(join(root, part), join(installed, part), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(installed, 'node_modules'));
  symlinkSync(join(root, 'node_modules/vitest'), join(dir, 'node_modules/vitest'));
}

function runTests(dir: string): ReturnType<AuthorFolder['runTests']> {
  const report = join(dir, 'report.json');
  // Of the test that runs now nothing must reach the ones that are run.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('VITEST')));
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const argv = [vitest, 'run', '--root', dir, '--reporter=json', '--reporter=default', '--outputFile.json', report];
  const { stdout, stderr } = spawnSync(process.execPath, argv, { cwd: dir, env, encoding: 'utf8' });
  // The form of vitest's own JSON reporter.
  const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as {
    testResults: { message: string; assertionResults: { fullName: string; status: string }[] }[];
  };
  const outcomes = testResults.flatMap(({ assertionResults }) =>
    assertionResults.map(({ fullName, status }) => [fullName, status] as const),
  );
  return { outcomes: Object.fromEntries(outcomes), report: `${stdout}${stderr}` };
}
