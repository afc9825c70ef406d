import { describe, expect, test } from 'vitest';

import { everyCommand } from './every-command.ts';
import { buildClone, copyClone, giveTo, OUTSIDE, runAs, ways, whatLeaked, whatRan } from './hostile-clone.ts';

// A hostile clone runs nothing before a word of trust, whatever command is used.
const isRoot = process.getuid?.() === 0;
const me = process.getuid?.() ?? 0;
/** Ids of users that need not exist. */
const OWNER = 51_001;
const OTHER = 51_002;
const MAX_MIB = 300;
/** Ten times what a command may take: other work of this machine is not the command's fault. */
const MAX_MS = 100_000;
/** Prints what is stored byte by byte where its output is no terminal, as `git cat-file` does. */
const printsData = /^(?:step read|cas get|cas cat|thread export)$/u;
const harmlessExits = new Set([0, 1, 2, 3, 4, 5, 6, 7, 124]);

const pristine = buildClone();
const users = isRoot ? { root: 0, 'the owner': OWNER } : { 'the owner': me };
/** `SUITE_CLONE_USERS=all` tries every way as each user; otherwise they take turns. */
const takesTurns = process.env['SUITE_CLONE_USERS'] !== 'all';
const tries = Object.entries(ways).map(([way, plant], place) => {
  const all = Object.entries(users);
  return { way, plant, users: takesTurns ? all.filter((_, at) => at === place % all.length) : all };
});

describe.each(tries)('$way', ({ plant, users: trying }) => {
  test.each(trying)('runs nothing and reads nothing outside for %s', async (_user, uid) => {
    const clone = copyClone(pristine);
    plant(clone);
    if (isRoot) giveTo(uid, clone);
    const wrong: string[] = [];
    for (const line of everyCommand(clone.handles)) {
      const before = whatRan(clone);
      const { code, output, maxMiB, ms } = await runAs(uid, clone, line);
      const command = `uwf ${line.args.join(' ')}`;
      for (const name of whatRan(clone)) if (!before.includes(name)) wrong.push(`${command}: ran ${name}`);
      if (output.includes(OUTSIDE)) wrong.push(`${command}: printed what lies outside`);
      if (!printsData.test(line.name) && /[\u001b\u009b\u202a-\u202e\u2066-\u2069]/u.test(output))
        wrong.push(`${command}: printed a control character`);
      if (code === null || !harmlessExits.has(code)) wrong.push(`${command}: exit ${code}: ${output.slice(-300)}`);
      if (maxMiB > MAX_MIB) wrong.push(`${command}: ${Math.round(maxMiB)} MiB`);
      if (ms > MAX_MS) wrong.push(`${command}: ${Math.round(ms)} ms`);
    }
    wrong.push(...whatLeaked(clone));
    expect(wrong).toEqual([]);
  });
});

test.skipIf(!isRoot)("another user's repository is refused before anything of it is read", async () => {
  const wrong: string[] = [];
  // It is refused before what is planted matters.
  for (const [way, plant] of Object.entries(ways).filter((_, place) => place % 4 === 0)) {
    const clone = copyClone(pristine);
    plant(clone);
    giveTo(OWNER, clone);
    for (const [at, line] of everyCommand(clone.handles).entries()) {
      const strangers = [0, OTHER];
      for (const uid of takesTurns ? strangers.slice(at % 2, (at % 2) + 1) : strangers) {
        const { code, output } = await runAs(uid, clone, line);
        const isAboutNone = /^(?:completion|schema list|schema show)$/u.test(line.name);
        if (!isAboutNone && (code === 0 || !output.includes('dubious ownership')))
          wrong.push(`${way}, user ${uid}: uwf ${line.args.join(' ')}: exit ${code}: ${output.slice(0, 200)}`);
      }
    }
    for (const name of whatRan(clone)) wrong.push(`${way}: ran ${name}`);
  }
  expect(wrong).toEqual([]);
});
