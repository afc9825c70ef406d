import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';

/** The shipped program. */
export const uwf = resolve(import.meta.dirname, '../../bin/uwf.js');

const preload = resolve(import.meta.dirname, 'peak-memory.cjs');

/**
 * Runs a command and waits for its end.
 *
 * @returns {Buffer} its stdout
 * @throws {Error} if it fails, because its time would have no meaning
 */
export function runCommand([program, ...argv], { cwd, env, input = '' }) {
  const result = spawnSync(program, argv, { cwd, env, input, maxBuffer: 2 ** 31 });
  if (result.error !== undefined) throw result.error;
  if (result.status !== 0) throw new Error(`${program} ${argv.join(' ')} failed: ${String(result.stderr)}`);
  return result.stdout;
}

/** A contestant that runs a command in a process of its own. */
export function command(argv, options) {
  return () => void runCommand(argv, options);
}

/**
 * A contestant that runs a `uwf` command. Its peak memory is measured in a separate run, not timed, and only on Linux.
 */
export function uwfCommand(words, options) {
  let peakMb;
  return {
    before() {
      if (peakMb !== undefined || process.platform !== 'linux') return;
      const argv = [process.execPath, '--require', preload, uwf, ...words];
      const { stderr, status } = spawnSync(argv[0], argv.slice(1), {
        ...options,
        encoding: 'utf8',
        maxBuffer: 2 ** 31,
      });
      if (status !== 0) throw new Error(`uwf ${words.join(' ')} failed: ${stderr}`);
      peakMb = Number(/^VmHWM kB (\d+)$/m.exec(stderr)?.[1]) / 1024;
    },
    run: command([process.execPath, uwf, ...words], options),
    after: () => (peakMb === undefined ? {} : { 'peak MB': peakMb }),
  };
}
