import { execFileSync } from 'node:child_process';
import { arch, availableParallelism, cpus, loadavg, platform, release, totalmem } from 'node:os';

/** Describes the machine of a run. The load shows how reliable single times are. */
export function describeMachine() {
  return {
    node: process.version,
    git: execFileSync('git', ['--version'], { encoding: 'utf8' }).trim().split(' ').at(-1),
    system: `${platform()} ${release()} ${arch()}`,
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    load: loadavg()[0]?.toFixed(1),
  };
}
