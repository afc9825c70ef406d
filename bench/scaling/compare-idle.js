import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { watchIdle } from './team.js';

/** What a worker takes that finds nothing to do, beside how many active threads it looks at. */
export function compareIdle(root, { threads, seconds }) {
  const idle = (count) => async (round) => {
    if (round === 0) return {};
    const folder = join(root, `idle-${count}`);
    mkdirSync(folder);
    return watchIdle(folder, { threads: count, seconds });
  };
  return {
    what: `a worker that finds nothing to do, a look each 5 s, ${seconds} s`,
    base: '10 active threads',
    rounds: 1,
    contestants: { '10 active threads': idle(10), [`${threads} active threads`]: idle(threads) },
  };
}
