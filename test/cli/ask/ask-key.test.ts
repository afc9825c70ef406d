import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';

import { createCliEnvironment } from '../../../src/cli/process/cli-environment.ts';
import { askKey } from '../../../src/cli/ask/ask.ts';
import { main } from '../../../src/cli/main.ts';
import { fixtureAgent } from '../../helpers/agent-request.ts';
import { createLoopRepository, recorder } from '../../helpers/cli.ts';
import { isolatedGitEnvironment } from '../../helpers/temporary-repository.ts';

type Keyboard = PassThrough & { isTTY: true; modes: boolean[]; setRawMode(isRaw: boolean): void };

/** A terminal's input whose modes are remembered. */
function createKeyboard(): Keyboard {
  const modes: boolean[] = [];
  return Object.assign(new PassThrough(), {
    isTTY: true as const,
    modes,
    setRawMode: (raw: boolean) => void modes.push(raw),
  });
}

describe('a question that one key answers', () => {
  test.each([
    [['y'], 'y'],
    [['Y'], 'y'],
    [['\r', 'x', '\u001B[A', 'n'], 'n'],
    [['yes\r'], 'y'],
    [['\u0004'], ''],
  ])('is answered by %j with %j', async (typed, key) => {
    const stdin = createKeyboard();
    const stderr = recorder([], { isTTY: true });
    const asked = askKey(
      createCliEnvironment({ stdin, stderr, signal: new AbortController().signal }),
      'May it?\u001B[2J',
      'yn',
    );
    // What is typed before the question is shown answers nothing.
    stdin.write('y');
    while (!stderr.text.includes('May it?')) await sleep(5);
    for (const text of typed) {
      const heard = once(stdin, 'data');
      stdin.write(text);
      await heard;
    }
    await expect(asked).resolves.toBe(key);
    expect(stderr.text).toBe(`\nMay it?\uFFFD[2J ${key}\n`);
    expect(stdin.modes).toEqual([true, false]);
  });

  test.each(['of the command', 'of the turn'])('is taken back when the signal %s is aborted', async (whose) => {
    const stdin = createKeyboard();
    const [command, turn] = [new AbortController(), new AbortController()];
    const cli = createCliEnvironment({ stdin, stderr: recorder([]), signal: command.signal });
    const asked = askKey(cli, 'May it?', 'yn', turn.signal);
    (whose === 'of the turn' ? turn : command).abort(new Error('enough'));
    await expect(asked).rejects.toThrow('enough');
    expect(stdin.modes).toEqual([true, false]);
    expect(stdin.listenerCount('data')).toBe(0);
  });

  test('has nothing drawn over it, and what came meanwhile stands below', async () => {
    const { dir, write } = createLoopRepository();
    const ask = { toolCallId: '1', title: 'List files', kind: 'execute', rawInput: { command: 'npm publish' } };
    const steps = JSON.stringify([{ ask }, { write: '$CWD/.git/config' }]);
    const command = [process.execPath, fixtureAgent('lying-acp-agent.mjs'), steps];
    const agents = { liar: { package: 'builtin:acp', config: { command, mcp: false } } };
    write('.uwf/config.yaml', JSON.stringify({ agents, defaultAgent: 'liar' }));
    const stdin = createKeyboard();
    const log: string[] = [];
    const stderr = recorder(log, { isTTY: true, columns: 100 });
    const env = { ...isolatedGitEnvironment, NO_COLOR: '1', UWF_TRUST: 'all' };
    const signal = new AbortController().signal;
    const running = main(['run', 'loop', '-p', 'x', '--limit', '1'], {
      stdin,
      stderr,
      stdout: recorder([]),
      env,
      signal,
      cwd: dir,
    });
    const asked = async (): Promise<void> => {
      while (!stderr.text.includes('allow it?')) await sleep(20);
    };
    await Promise.race([asked(), running]);
    expect(stderr.text).toContain('allow it?');
    const before = log.length;
    await sleep(350);
    expect(log.slice(before)).toEqual([]);
    // Its reply is not accepted, so that it is asked again and asks again.
    const answering = setInterval(() => stdin.write('n'), 50);
    await running.finally(() => clearInterval(answering));
    const question = stderr.text.indexOf('writer wants to: run npm publish (execute)');
    expect(question).toBeGreaterThan(0);
    expect(stderr.text.slice(question)).toContain(
      'it calls this "List files"\nallow it? [y]es, [a]lways in this turn, [n]o n\n',
    );
  });
});
