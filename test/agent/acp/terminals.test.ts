import { expect, it } from 'vitest';

import { Terminals } from '../../../src/agent/acp/terminals.ts';

const sleep = { command: 'sleep 60', args: [], env: {}, cwd: '/', outputByteLimit: undefined };

function newTerminals(): { terminals: Terminals; groups: number[] } {
  const groups: number[] = [];
  return { terminals: new Terminals(0, (pgid) => groups.push(pgid)), groups };
}

it('starts no program after the turn has ended', async () => {
  const { terminals, groups } = newTerminals();
  await terminals.endAll();
  await expect(terminals.create(sleep)).rejects.toThrow('the turn has ended');
  expect(groups).toEqual([]);
});

it('ends a program that was about to run when the turn ended', async () => {
  const { terminals } = newTerminals();
  const created = terminals.create(sleep);
  await terminals.endAll();
  expect(await terminals.waitForExit(await created)).toMatchObject({ exitCode: null });
});

it('counts the programs that are about to run among those that are open', async () => {
  const { terminals, groups } = newTerminals();
  const all = await Promise.allSettled(Array.from({ length: 40 }, () => terminals.create(sleep)));
  await terminals.endAll();
  expect(all.filter(({ status }) => status === 'rejected')).toHaveLength(8);
  expect(groups).toHaveLength(32);
});
