import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { chain, createScene } from '../../faults/scene.ts';
import { expectCleanFsck } from '../../helpers/temporary-repository.ts';

const MIB = 1024 * 1024;

/** An agent that reports half a gigabyte in its turn, in the way that it is configured to. */
const flooding = `
const { setImmediate: pause } = require('node:timers/promises');
exports.packageDescriptor = { name: 'flooding', version: '1.0.0', capabilities: [], configSchema: { type: 'object' } };
exports.createAgent = ({ kind }) => ({
  async run({ emit }) {
    const text = 'flood '.repeat(${Math.ceil(MIB / 6)});
    if (kind === 'text') for (let n = 0; n < 512; n += 1) { emit({ kind: n % 2 ? 'text' : 'thought', text }); await pause(); }
    if (kind === 'results') for (let n = 0; n < 512; n += 1) {
      emit({ kind: 'tool-call', id: String(n), name: 'run', arguments: { n } });
      emit({ kind: 'tool-result', id: String(n), result: n + text, durationMs: 1 });
      await pause();
    }
    if (kind === 'calls') for (let n = 0; n < 50_000; n += 1) {
      emit({ kind: 'tool-call', id: String(n), name: 'run', arguments: { n } });
      emit({ kind: 'tool-result', id: String(n), result: n + text.slice(0, 10_000), durationMs: 1 });
      if (n % 100 === 0) await pause();
    }
    return { kind: 'reply', text: '---\\n$status: done\\n---\\nDone.\\n' };
  },
});
`;

const atExit = `process.on('exit', () => require('node:fs').writeFileSync('peak', String(process.resourceUsage().maxRSS)));`;

test.each(['text', 'results', 'calls'])(
  'half a gigabyte of %s does not stay in memory, and the step says what it left out',
  async (kind) => {
    const agents = { flood: { package: 'flooding', config: { kind } } };
    const scene = createScene({
      '.uwf/workflows/one.yaml': chain('one', ['worker']),
      '.uwf/config.yaml': JSON.stringify({ agents, defaultAgent: 'flood' }),
      'node_modules/flooding/package.json': '{"name": "flooding", "version": "1.0.0"}',
      'node_modules/flooding/index.js': flooding,
      'at-exit.cjs': atExit,
    });
    // How soon V8 collects differs between its versions; that it can do with so little does not.
    const env = { NODE_OPTIONS: `--max-old-space-size=128 --require ${join(scene.dir, 'at-exit.cjs')}` };
    const { code, stderr } = await scene.uwf(['run', 'one', '-p', 'x'], { env });
    expect([code, stderr]).toEqual([0, expect.stringContaining('worker done')]);
    // In KiB. Buffers are not in V8's heap: so much is the same for whatever comes.
    expect(Number(readFileSync(join(scene.dir, 'peak'), 'utf8')) * 1024).toBeLessThan(340 * MIB);
    const head = scene.git('rev-parse', `${scene.git('for-each-ref', '--format=%(objectname)', 'refs/history')}^`);
    const trace = scene.git('grep', '-h', 'uwf left', head, '--', 'trace');
    expect(trace).toMatch(/uwf left (\d{6,} bytes out here|out of this trace)/);
    expectCleanFsck(scene.dir);
  },
  // Half a gigabyte is searched for secrets: that takes a minute where others work.
  600_000,
);
