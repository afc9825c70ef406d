import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { build } from 'esbuild';
import type { Plugin } from 'esbuild';
import { packageRoot } from '../../src/git/system/process-identity.ts';

/** How a script ended: its exit code, or the signal that killed it. */
export type ScriptOutcome = { code: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string };

export type RunningScript = { process: ChildProcess; outcome: Promise<ScriptOutcome> };

const bundles = new Map<string, Promise<string>>();

/**
 * Runs a TypeScript file in a process of its own. The file is bundled once, because Node 20 does not run TypeScript.
 *
 * @param entry absolute path
 * @param options.withFaults replaces `node:fs` by `test/faults/faulty-fs.ts`, which kills or fails at a chosen call
 * @param options.through words before the command line, of a program that runs it
 */
export async function startTypeScript(
  entry: string,
  args: readonly string[],
  options: { withFaults?: boolean; env?: Readonly<Record<string, string>>; through?: readonly string[] } = {},
): Promise<RunningScript> {
  const withFaults = options.withFaults === true;
  const key = `${entry}\0${withFaults}`;
  let bundle = bundles.get(key);
  if (bundle === undefined) {
    bundle = bundleScript(entry, withFaults);
    bundles.set(key, bundle);
  }
  // There is always a first word.
  const [program, ...words] = [...(options.through ?? []), process.execPath, await bundle, ...args] as [string];
  const child = spawn(program, words, {
    env: { PATH: process.env['PATH'] ?? '', ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  const outcome = Promise.all([ended, text(child.stdout), text(child.stderr)]).then(([end, stdout, stderr]) => ({
    ...end,
    stdout,
    stderr,
  }));
  return { process: child, outcome };
}

/** As {@link startTypeScript}, until the script has ended. */
export async function runTypeScript(...args: Parameters<typeof startTypeScript>): Promise<ScriptOutcome> {
  return (await startTypeScript(...args)).outcome;
}

async function bundleScript(entry: string, withFaults: boolean): Promise<string> {
  // Inside uwf's own folder, where Node finds its packages, and the engine finds the `uwf` for agents.
  const folder = mkdtempSync(join(packageRoot(), 'node_modules', '.uwf-script-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const outfile = join(folder, `${basename(entry, '.ts')}.mjs`);
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    packages: 'external',
    logLevel: 'error',
    plugins: withFaults ? [faultyFileSystem] : [],
  });
  return outfile;
}

const faultyFs = join(import.meta.dirname, '..', 'faults', 'faulty-fs.ts');

const faultyFileSystem: Plugin = {
  name: 'faulty-file-system',
  setup(build_) {
    build_.onResolve({ filter: /^node:fs$/ }, (args) =>
      args.importer === faultyFs ? { path: 'node:fs', external: true } : { path: faultyFs },
    );
  },
};
