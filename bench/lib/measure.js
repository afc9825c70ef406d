import { median } from './median.js';

/**
 * One way to do what a comparison is about. A function alone is its `run`.
 *
 * @typedef {object} Contestant
 * @property {(round: number) => unknown} run what is timed; an object of numbers that it returns is reported beside its
 *   time, the largest of each; `tookMs` among them takes the place of the time
 * @property {(round: number) => unknown} [before] what has to be done ahead of a run, outside the time
 * @property {() => Record<string, number>} [after] looks at what the run left, outside the time, for more such numbers
 */

/**
 * Contestants that do the same, in turn.
 *
 * @typedef {object} Comparison
 * @property {string} what what each of them does, and how much of it
 * @property {string} base the contestant that ratios are to
 * @property {number} rounds how often each runs; one more round, the first, warms up and is not counted
 * @property {Record<string, Contestant | Contestant['run']>} contestants by name
 * @property {Record<string, number>} [limits] how many times what the base takes a contestant may take
 * @property {Record<string, string>} [beyond] contestants of which only the time beyond that of another one counts for
 *   the ratio
 * @property {boolean} [inProcess] whether they run in this very process, so that its CPU time is theirs
 * @property {number} [stretch] reports for each contestant the worst ratio of so many rounds in a row, too
 */

/**
 * One contestant's times, in ms, and what else it told of.
 *
 * @typedef {object} Row
 * @property {string} name
 * @property {number} medianMs
 * @property {number} fastestMs
 * @property {number} ratio of the median to the base's
 * @property {number} [limit]
 * @property {number} [cpuMs] median, user and system
 * @property {Record<string, number>} figures
 */

/**
 * Runs the contestants in turn, again and again, so that what else the machine does falls on all of them.
 *
 * @param {Comparison} comparison
 * @returns {Promise<Row[]>}
 */
export async function measure({ base, rounds, contestants, limits = {}, beyond = {}, inProcess = false, stretch }) {
  const runs = new Map(Object.keys(contestants).map((name) => [name, []]));
  for (let round = 0; round <= rounds; round += 1) {
    for (const [name, contestant] of Object.entries(contestants)) {
      const run = await runOnce(contestant, round);
      if (round > 0) runs.get(name).push(run);
    }
  }
  const walls = new Map([...runs].map(([name, all]) => [name, all.map(({ wallMs }) => wallMs)]));
  const baseMs = median(walls.get(base));
  return [...runs].map(([name, all]) => {
    const times = walls.get(name);
    const without = beyond[name] === undefined ? 0 : median(walls.get(beyond[name]));
    const figures = largest(all.map((run) => run.figures));
    if (stretch !== undefined) figures[`worst of ${stretch}`] = worstStretch(times, walls.get(base), stretch);
    return {
      name,
      medianMs: median(times),
      fastestMs: Math.min(...times),
      ratio: (median(times) - without) / baseMs,
      ...(limits[name] !== undefined && { limit: limits[name] }),
      ...(inProcess && { cpuMs: median(all.map(({ cpuMs }) => cpuMs)) }),
      figures,
    };
  });
}

async function runOnce(contestant, round) {
  const { run, before, after } = typeof contestant === 'function' ? { run: contestant } : contestant;
  await before?.(round);
  const cpu = process.cpuUsage();
  const startedMs = performance.now();
  const told = await run(round);
  const wallMs = performance.now() - startedMs;
  const { user, system } = process.cpuUsage(cpu);
  const { tookMs = wallMs, ...figures } = { ...(typeof told === 'object' && told), ...after?.() };
  return { wallMs: tookMs, cpuMs: (user + system) / 1000, figures };
}

function largest(all) {
  const most = {};
  for (const figures of all) {
    for (const [name, value] of Object.entries(figures)) most[name] = Math.max(most[name] ?? value, value);
  }
  return most;
}

function worstStretch(times, base, length) {
  const starts = Array.from({ length: Math.max(1, Math.floor(times.length / length)) }, (_, at) => at * length);
  const middle = (all, start) => median(all.slice(start, start + length));
  return Math.max(...starts.map((start) => middle(times, start) / middle(base, start)));
}
