import { expect, test } from 'vitest';
import { RefMoved } from '../../../src/git/repository.ts';
import { againIfMoved } from '../../../src/git/stores/publish.ts';
import { parseRefName } from '../../../src/git/format/refs.ts';

const moved = (): RefMoved => new RefMoved(parseRefName('refs/threads/a'), null, null);

test('work that lost a race is done again, until it wins', async () => {
  let tries = 0;
  const work = (): Promise<string> => (++tries < 3 ? Promise.reject(moved()) : Promise.resolve('won'));
  await expect(againIfMoved(5, work)).resolves.toBe('won');
  expect(tries).toBe(3);
});

test('work that loses every race fails as the last one did, after so many tries', async () => {
  let tries = 0;
  const work = (): Promise<never> => {
    tries += 1;
    return Promise.reject(moved());
  };
  await expect(againIfMoved(3, work)).rejects.toBeInstanceOf(RefMoved);
  expect(tries).toBe(3);
});

test('another error is not tried again', async () => {
  let tries = 0;
  const work = (): Promise<never> => {
    tries += 1;
    return Promise.reject(new Error('no'));
  };
  await expect(againIfMoved(3, work)).rejects.toThrow('no');
  expect(tries).toBe(1);
});
