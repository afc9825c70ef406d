import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { measureUwf } from '../helpers/measured-uwf.ts';
import { createTemporaryRepository } from '../helpers/temporary-repository.ts';

const thread = '01ARZ3NDEKTSV4RRFFQ69G5FAV';
const mostBytes = 300 * 1024 * 1024;

const places = [
  'HEAD',
  'config',
  'packed-refs',
  `refs/threads/${thread}`,
  'objects/info/alternates',
  'commondir',
  `objects/pack/pack-${'0'.repeat(40)}.idx`,
  'uwf/config.yaml',
  `uwf/leases/${thread}.json`,
  `uwf/pending/${thread}.json`,
];

const kinds = {
  'a pipe': (path: string): void => void execFileSync('mkfifo', [path]),
  'a link to what does not end': (path: string): void => symlinkSync('/dev/zero', path),
  'a file of 3 GB': (path: string): void => {
    writeFileSync(path, '');
    truncateSync(path, 3_000_000_000);
  },
};

test.each(places)(
  'a command ends, and takes little memory, where a stranger has put something odd at .git/%s',
  async (place) => {
    for (const [kind, make] of Object.entries(kinds)) {
      const { dir, git } = createTemporaryRepository();
      git('commit', '--quiet', '--allow-empty', '-m', 'first');
      git('update-ref', `refs/threads/${thread}`, 'HEAD');
      const path = join(dir, '.git', place);
      mkdirSync(dirname(path), { recursive: true });
      rmSync(path, { force: true });
      make(path);
      for (const argv of [['thread', 'list', '--all'], ['doctor']]) {
        const { code, stderr, bytes } = await measureUwf(dir, argv);
        expect([0, 1], `${argv.join(' ')}, ${kind}: ${stderr}`).toContain(code);
        expect(bytes).toBeLessThan(mostBytes);
      }
    }
  },
  240_000,
);
