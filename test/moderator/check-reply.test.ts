import { afterAll, describe, expect, test } from 'vitest';

import { sharedEvaluator } from '../../src/expression/evaluation/evaluator-child.ts';
import { UwfError } from '../../src/errors.ts';
import { type CheckContext, checkReply } from '../../src/moderator/decide.ts';
import type { StepView } from '../../src/thread/step-view.ts';

afterAll(() => sharedEvaluator().close());

const planMeta = { phases: [{ hash: 'H1' }, { hash: 'H2' }] };
const planner: StepView = {
  role: 'planner',
  meta: planMeta,
  output: planMeta,
  text: '',
  hash: '0123456789ABC',
  status: null,
  agent: 'scripted',
  usage: null,
  startedAtMs: 1,
  completedAtMs: 2,
};

function reply(meta: CheckContext['meta']): CheckContext {
  return { meta, steps: [planner], start: { prompt: 'task', workflow: 'develop', depth: 0, startedAtMs: 0 } };
}

const planned = {
  expression: "$meta.completedPhase in $first('planner').phases.hash",
  message: 'this phase was not planned',
};

describe('a reply', () => {
  test('that its checks accept has nothing wrong with it', async () => {
    expect(await checkReply([planned], reply({ completedPhase: 'H2' }))).toEqual([]);
  });

  test('that a check refuses gets the message of that check', async () => {
    expect(await checkReply([planned], reply({ completedPhase: 'H3' }))).toEqual(['this phase was not planned']);
  });

  test('gets all messages, in the order of the checks', async () => {
    const checks = [
      { expression: 'false', message: 'one' },
      planned,
      { expression: 'true', message: 'none' },
      { expression: 'meta.missing', message: 'two' },
    ];
    expect(await checkReply(checks, reply({ completedPhase: 'H1' }))).toEqual(['one', 'two']);
  });

  test.each(['$meta.n = 1', 'meta.n = 1', '$count($steps) = 1', '$start.prompt = "task"', '$visits("planner") = 1'])(
    'is seen by %s',
    async (expression) => {
      expect(await checkReply([{ expression, message: 'no' }], reply({ n: 1 }))).toEqual([]);
    },
  );
});

describe('a check that comes to no answer is named', () => {
  test.each(['][', '1 + "a"', '$now()', '($f := function($x){ $f($x) }; $f(1))'])('%s', async (expression) => {
    const checks = [planned, { expression, message: 'never said' }];
    await expect(checkReply(checks, reply({}))).rejects.toMatchObject({
      code: 'check-failed',
      kind: 'data',
      check: 1,
      expression,
      message: expect.stringMatching(/^check 2 /),
    });
  });
});

describe('what is not the fault of a check is thrown as it is', () => {
  const failing = (error: Error): CheckContext => {
    const meta = Object.defineProperty({}, 'x', {
      enumerable: true,
      get: () => {
        throw error;
      },
    });
    return reply(meta);
  };

  test.each<[string, Error]>([
    ['an error of the program', new TypeError('broken')],
    ['an error of the machine', new UwfError('no memory', { code: 'x', kind: 'environment' })],
  ])('%s', async (_, error) => {
    await expect(checkReply([planned], failing(error))).rejects.toBe(error);
  });

  test('but an error of the data is the fault of the check', async () => {
    const error = new UwfError('bad data', { code: 'x', kind: 'data' });
    await expect(checkReply([planned], failing(error))).rejects.toMatchObject({ code: 'check-failed', cause: error });
  });
});
