import { spawnSync } from 'node:child_process';

/** The middle of a list of numbers, or the mean of its two middles. */
export function median(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/**
 * Runs several commands in turn, again and again, so that what else the machine does falls on all of them.
 *
 * @param commands name -> argv
 * @returns name -> wall time of each run in ms; the first round, which fills the disk's cache, is left out
 * @throws {Error} if a command fails: its time would mean nothing
 */
export function interleave(commands, { rounds, cwd, env }) {
  const times = Object.fromEntries(Object.keys(commands).map((name) => [name, []]));
  for (let round = 0; round <= rounds; round += 1) {
    for (const [name, [program, ...argv]] of Object.entries(commands)) {
      const startedMs = performance.now();
      const result = spawnSync(program, argv, {
        cwd,
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
        encoding: 'utf8',
        maxBuffer: 2 ** 28,
      });
      const elapsedMs = performance.now() - startedMs;
      if (result.status !== 0) throw new Error(`${name} failed: ${result.stderr}`);
      if (round > 0) times[name].push(elapsedMs);
    }
  }
  return times;
}
