import { expect, test } from 'vitest';

import { knownReports, type KnownReports } from '../../../src/agent/load/load-agent.ts';
import type { JsonObject } from '../../../src/json.ts';

const price = { inputPerMTok: 1, outputPerMTok: 2 };
const acp = (...command: string[]): { package: string; config: JsonObject } => {
  return { package: 'builtin:acp', config: { command } };
};
const npm = { package: 'uwf-agent-x', config: {} };

test.each<[Parameters<typeof knownReports>[0], string[], KnownReports | undefined]>([
  [{ package: 'builtin:command', config: {} }, ['streaming'], undefined],
  [{ package: 'builtin:human', config: {}, price }, [], undefined],
  [npm, ['no-model'], undefined],
  [npm, [], {}],
  [{ ...npm, price }, [], { cost: true }],
  [npm, ['usage'], { tokens: true, cost: false }],
  [npm, ['usage', 'cost'], { tokens: true }],
  [{ ...npm, price }, ['usage'], { tokens: true, cost: true }],
  [acp('/opt/bin/gemini', '--acp'), ['sessions'], { cost: false }],
  [{ ...acp('qwen', '--acp'), price }, [], { cost: true }],
  [acp('opencode', 'acp'), [], {}],
  [acp('goose', 'acp'), [], {}],
])('of %j, which can %j, is known what it reports', (agent, capabilities, reports) => {
  expect(knownReports(agent, capabilities)).toEqual(reports);
});
