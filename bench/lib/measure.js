import { median } from './median.js';

/**
 * One participant of a comparison. A function alone is its `run`.
 *
 * @typedef {object} Contestant
 * @property {(round: number) => unknown} run the timed function. If it returns an object of numbers, the largest of each is
 *   reported with the time; `tookMs` replaces the time
 * @property {(round: number) => unknown} [before] prepares a run, not timed
 * @property {() => Record<string, number>} [after] returns further numbers after a run, not timed
 */

/**
 * Contestants that do the same task, in turn.
 *
 * @typedef {object} Comparison
 * @property {string} what the task and its size
 * @property {string} base the contestant to which ratios refer
 * @property {number} rounds how often each runs; an additional first round warms up and does not count
 * @property {Record<string, Contestant | Contestant['run']>} contestants by name
 * @property {Record<string, number>} [limits] the largest allowed ratio of a contestant
 * @property {Record<string, string>} [beyond] contestants whose ratio counts only the time beyond that of another one
 * @property {boolean} [inProcess] whether they run in this process, so that its CPU time is theirs
 * @property {Map<string, number>} [sizes] how much there is for each contestant: reports the exponent of the growth of its
 *   time from that of the base
 * @property {number} [stretch] also reports the worst ratio of this many rounds in a row for each contestant
 */

/**
 * One contestant's times, in ms, and its further numbers.
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
 * Runs the contestants in turn, round after round, so that other load on the machine falls on all of them.
 *
 * @param {Comparison} comparison
 * @returns {Promise<Row[]>}
 */
export async function measure({
  base,
  rounds,
  contestants,
  limits = {},
  beyond = {},
  inProcess = false,
  stretch,
  sizes,
}) {
  /** @type {Map<string, { wallMs: number, cpuMs: number, figures: Record<string, number> }[]>} */
  const runs = new Map(Object.keys(contestants).map((name) => [name, []]));
  for (let round = 0; round <= rounds; round += 1) {
    for (const [name, contestant] of Object.entries(contestants)) {
      const run = await runOnce(contestant, round);
      if (round > 0) runs.get(name)?.push(run);
    }
  }
  const walls = new Map([...runs].map(([name, all]) => [name, all.map(({ wallMs }) => wallMs)]));
  const baseMs = median(walls.get(base));
  return [...runs].map(([name, all]) => {
    const times = walls.get(name) ?? [];
    const without = beyond[name] === undefined ? 0 : median(walls.get(beyond[name]));
    const figures = largest(all.map((run) => run.figures));
    if (sizes !== undefined && name !== base) {
      const more = (sizes.get(name) ?? 1) / (sizes.get(base) ?? 1);
      const growth = Math.log(median(times) / baseMs) / Math.log(more);
      figures['exponent'] = Math.round(Math.max(0, growth) * 100) / 100;
    }
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
