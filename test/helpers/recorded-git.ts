import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTemporaryFolder, isolatedGitEnvironment } from './temporary-repository.ts';

/** A `git` in a folder of its own that records its arguments and runs the real git. */
export type RecordedGit = {
  /** The environment in which a process finds it. */
  env: Readonly<Record<string, string>>;
  /** The subcommands so far, in order: `push`, `fetch`. */
  commands(): string[];
};

export function recordGit(): RecordedGit {
  const folder = createTemporaryFolder();
  const record = join(folder, 'record');
  const real = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
  const script = `#!/bin/sh\nprintf '%s\\n' "$*" >> '${record}'\nexec '${real}' "$@"\n`;
  writeFileSync(join(folder, 'git'), script);
  chmodSync(join(folder, 'git'), 0o755);
  return {
    env: { ...isolatedGitEnvironment, PATH: `${folder}:${isolatedGitEnvironment['PATH']}` },
    commands() {
      const lines = existsSync(record) ? readFileSync(record, 'utf8').trimEnd().split('\n') : [];
      return lines.map((line) => line.replace(/^(?:-c \S+ )*/, '').split(' ')[0] ?? '');
    },
  };
}
