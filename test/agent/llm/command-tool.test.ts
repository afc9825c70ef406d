import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';

import { isGroupAlive } from '../../../src/agent/processes/process-group.ts';
import type { JsonObject, JsonValue } from '../../../src/json.ts';
import { temporaryFolder } from '../../helpers/agent-request.ts';
import { callTool, type ToolTurn } from './tool-turn.ts';

let outside: string;
let cwd: string;

beforeEach(() => {
  outside = temporaryFolder();
  cwd = join(outside, 'work');
  mkdirSync(cwd);
  writeFileSync(join(outside, 'secret'), 'a secret');
});

const env = {
  PATH: process.env['PATH'] ?? '',
  HOME: '/home/somebody',
  LLM_KEY: 'sk-secret-1',
  GITHUB_TOKEN: 'ghp-secret-2',
};

function run(command: JsonValue, config: JsonObject = {}, more: JsonObject = {}): Promise<ToolTurn> {
  return callTool('run_command', { command, ...more }, { cwd, env, config: { apiKeyEnv: 'LLM_KEY', ...config } });
}

describe('run_command', () => {
  test('runs a list without a shell and a text with one, in the working folder', async () => {
    expect((await run(['echo', '$PATH', 'a b'])).result).toBe('$PATH a b\n\n[exit code 0]');
    expect((await run('pwd; echo out; echo err >&2; exit 3')).result).toBe(`${cwd}\nout\nerr\n\n[exit code 3]`);
  });

  test('a program that is not there is told', async () => {
    expect((await run(['no-such-program'])).result).toMatch(/not found[^]*\[exit code 127\]/u);
  });

  test('one that takes too long is ended with all that it started', async () => {
    const { result, isError, events } = await run('echo started; sleep 60 & sleep 60', {}, { timeoutMs: 2_500 });
    expect(isError).toBe(true);
    expect(result).toMatch(/^started\n[^]*longer than 2500 ms/u);
    const groups = events.flatMap((event) => (event.kind === 'process-group' ? [event.pgid] : []));
    expect(groups).toHaveLength(1);
    expect(groups.filter(isGroupAlive)).toEqual([]);
  });

  test('what it leaves running is ended', async () => {
    const { events, result } = await run('sleep 60 & echo done');
    expect(result).toContain('done');
    expect(events.some((event) => event.kind === 'process-group' && isGroupAlive(event.pgid))).toBe(false);
  });

  test('of a long output the beginning and the end are told', async () => {
    const { result } = await run('seq 1 100000', { maxToolResultCharacters: 300 });
    expect(result).toMatch(/^1\n2\n[^]*characters were left out here[^]*100000\n/u);
    expect(result.length).toBeLessThan(500);
  });

  test('a flood is ended', async () => {
    const { result } = await run(['yes']);
    expect(result).toContain('it wrote more than 33554432 bytes and was ended');
    expect(result.length).toBeLessThan(40_000);
  });

  test('allow says how commands may begin', async () => {
    const config = { runCommand: { allow: ['echo', 'git log'] } };
    expect((await run(['echo', 'x'], config)).result).toContain('x\n');
    for (const command of [['git', 'push'], ['/bin/echo', 'x'], 'echo x; rm y']) {
      const { isError, refusals } = await run(command, config);
      expect({ command, isError, refusals }).toEqual({
        command,
        isError: true,
        refusals: [expect.stringContaining('not allowed')],
      });
    }
  });
});

describe('what commands do not see', () => {
  test('no secret of the environment is in theirs', async () => {
    const { result } = await run(['env']);
    expect(result).toContain('HOME=/home/somebody');
    expect(result).not.toMatch(/secret|LLM_KEY|GITHUB_TOKEN/u);
  });

  test('nor the key, nor a secret among the variables of uwf, however they are called', async () => {
    const named = { ...env, UWF_MODEL: 'key-3', UWF_PUSH_TOKEN: 'token-4', UWF_THREAD: 'here' };
    const turn = await callTool(
      'run_command',
      { command: ['env'] },
      { cwd, env: named, config: { apiKeyEnv: 'UWF_MODEL' } },
    );
    expect(turn.result).toContain('UWF_THREAD=here');
    expect(turn.result).not.toMatch(/key-3|token-4/u);
  });

  test('what is passed on by name is', async () => {
    expect((await run(['env'], { runCommand: { passEnv: ['GITHUB_TOKEN'] } })).result).toContain('GITHUB_TOKEN=');
  });

  test.each([[['printenv', 'LLM_KEY']], ['echo $LLM_KEY'], ['echo "${GITHUB_TOKEN}"']])(
    'asking for a key is refused, and told: %j',
    async (command) => {
      const { isError, refusals } = await run(command);
      expect({ isError, refusals }).toEqual({
        isError: true,
        refusals: [expect.stringContaining('is kept from commands')],
      });
    },
  );
});

describe('commands that plainly reach out are refused, and told', () => {
  test.each([
    'cat ../secret',
    'echo x > ../made',
    'echo x >../made',
    'cp secret --target-directory=../made',
    'cd .. && cat secret',
    'cat ~/.ssh/id_rsa',
    'cat "$HOME/.netrc"',
    'cat /proc/self/environ',
    'touch /tmp/made',
    ['cat', '../secret'],
    ['tee', '/etc/made'],
  ])('%j', async (command) => {
    const { result, isError, refusals } = await run(command);
    expect({ isError, refusals }).toEqual({
      isError: true,
      refusals: [expect.stringContaining('outside the working folder')],
    });
    expect(result).not.toContain('a secret');
    expect(existsSync(join(outside, 'made'))).toBe(false);
  });

  test.each(['/bin/echo x > made 2>/dev/null', 'echo x >./made', `echo x > "$PWD/made"`])(
    'and others are not: %s',
    async (command) => {
      expect(await run(command)).toMatchObject({ isError: false, refusals: [] });
      expect(readFileSync(join(cwd, 'made'), 'utf8')).toBe('x\n');
    },
  );
});
