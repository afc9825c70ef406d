import { existsSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { expect, test } from 'vitest';
import { until, startUwf } from '../faults/scene.ts';
import { createTemporaryFolder, isolatedGitEnvironment } from '../helpers/temporary-repository.ts';
import { expectWhole, Farm } from './farm.ts';

/** A folder for the PATH whose git takes its time over one command, and a file that tells that it is at it. */
function slowGit(command: string): { path: string; began: string } {
  const folder = createTemporaryFolder();
  const began = join(folder, 'began');
  const inherited = isolatedGitEnvironment['PATH'] ?? '';
  const script = `#!/bin/sh
PATH='${inherited}'
case " $* " in *' ${command} '*) [ -e '${began}' ] || { touch '${began}'; sleep 1; } ;; esac
exec git "$@"
`;
  writeFileSync(join(folder, 'git'), script, { mode: 0o755 });
  return { path: `${folder}${delimiter}${inherited}`, began };
}

test.each(['write-tree', 'push'])(
  'a Ctrl-C during git %s lets the turn of a worker end',
  async (command) => {
    const farm = new Farm(1, ['--poll', '300ms', '--label', 'docker']);
    const threads = await farm.startThreads(1);
    const { path, began } = slowGit(command);
    const { scene } = farm.machines[0]!;
    const env = { ...farm.env, PATH: path };
    const worker = startUwf(['worker', '--label', 'docker'], { cwd: scene.dir, env, leadsGroup: true });
    await until(`git ${command} is at work`, () => existsSync(began));
    process.kill(-worker.pid, 'SIGINT');
    const { code, stderr } = await worker.outcome;
    expect(code).toBe(0);
    expect(stderr).not.toContain('uwf: ');
    farm.startWorker(0, '--drain');
    await farm.untilDone(undefined, 60_000);
    await farm.machines[0]?.worker?.outcome;
    await expectWhole(farm, threads);
    expect(farm.begun()).toHaveLength(5);
  },
  120_000,
);
