import { describe, expect, test } from 'vitest';
import { createLoopRepository } from '../../helpers/cli.ts';

describe('uwf thread verify', () => {
  test('finds nothing wrong with a thread that uwf has written', async () => {
    const { uwf } = createLoopRepository();
    await uwf(['run', 'loop', '-p', 'Write a poem']);
    const thread = JSON.parse((await uwf(['thread', 'list', '-a', '--json'])).stdout)[0].thread as string;
    const { stdout, stderr, code } = await uwf(['thread', 'verify', thread]);
    expect({ stdout, stderr, code }).toEqual({
      stdout: `thread ${thread} is sound: 6 commits verified\n`,
      stderr: '',
      code: 0,
    });
  });
});
