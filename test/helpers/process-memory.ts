import { readdirSync, readFileSync } from 'node:fs';

/** Watches the memory of a process and all of its descendants together, in bytes. Linux only. */
export function watchMemory(pid: number): { stop(): number } {
  let most = 0;
  const timer = setInterval(() => (most = Math.max(most, memoryOf(pid))), 10);
  return {
    stop: () => {
      clearInterval(timer);
      return most;
    },
  };
}

/** Proportional memory of a process and its descendants. Source: proc(5), smaps_rollup. */
function memoryOf(root: number): number {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const stat = contentOf(`/proc/${pid}/stat`);
    parents.set(pid, Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]));
  }
  let sum = 0;
  for (const pid of parents.keys()) if (descendsFrom(pid, root, parents)) sum += residentOf(pid);
  return sum;
}

function descendsFrom(pid: number, root: number, parents: ReadonlyMap<number, number>): boolean {
  for (let at: number | undefined = pid; at !== undefined && at > 0; at = parents.get(at)) if (at === root) return true;
  return false;
}

/** Memory without mapped files, whose pages the system can reclaim. */
function residentOf(pid: number): number {
  const kilobytes = /^RssAnon:\s+(\d+) kB$/m.exec(contentOf(`/proc/${pid}/status`))?.[1] ?? '0';
  return Number(kilobytes) * 1024;
}

function contentOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
