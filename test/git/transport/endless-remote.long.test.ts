import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createLoopRepository } from '../../helpers/cli.ts';
import { measureUwf } from '../../helpers/measured-uwf.ts';
import { createTemporaryFolder } from '../../helpers/temporary-repository.ts';

const mostBytes = 300 * 1024 * 1024;
const id = '0123456789'.repeat(4);
const encode = (line: string): string => `${(line.length + 5).toString(16).padStart(4, '0')}${line}`;
const ref = encode(`${id} refs/threads/01ARZ3NDEKTSV4RRFFQ69G5FAV`);
/** The first ref carries what the server can do. */
const first = encode(`${id} refs/threads/01ARZ3NDEKTSV4RRFFQ69G5FA0.report-status delete-refs atomic ofs-delta`);
const version2 = ['version 2', 'ls-refs', 'fetch=filter', 'object-format=sha1']
  .map((line) => `${encode(line)}\n`)
  .join('');

/** What the other side of a pipe does, as a shell script: `yes` ends each line, as a packet does. */
const scripts = {
  'in the older protocol': `printf '%s\\n' '${first}' | tr . '\\0'; exec yes '${ref}'`,
  'in the newer one': `printf '%s0000' '${version2}'; head -c 16 >/dev/null; exec yes '${ref}'`,
  'of what it can do': `printf '%s\\n' '${encode('version 2')}'; exec yes '${encode(`${'x'.repeat(1000)}=1`)}'`,
  'of words': 'exec yes >&2',
};

async function makeThread(): Promise<string> {
  const repository = createLoopRepository();
  await repository.lines(['run', 'loop', '-p', 'Write something']);
  return repository.dir;
}

const commandsFor = (url: string): string[][] => [
  ['fetch', url],
  ['thread', 'list', `--remote=${url}`],
  ['push', url],
];

describe('a remote that tells without end is stopped', () => {
  test.each(Object.entries(scripts))(
    'over ssh, %s',
    async (_, script) => {
      const dir = await makeThread();
      const program = join(createTemporaryFolder(), 'ssh');
      writeFileSync(program, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
      for (const argv of commandsFor('ssh://host/x')) {
        const { stderr, code, bytes } = await measureUwf(dir, argv, {
          GIT_SSH_COMMAND: program,
          GIT_SSH_VARIANT: 'simple',
        });
        expect([code, stderr], argv.join(' ')).toEqual([1, expect.stringContaining('ssh://host/x cannot be reached')]);
        expect(bytes).toBeLessThan(mostBytes);
      }
    },
    240_000,
  );

  test('over HTTP', async () => {
    const dir = await makeThread();
    const chunk = Buffer.from(`${ref}\n`.repeat(1000));
    const server = createServer((question, answer) => {
      const service = /service=(\S+)/.exec(question.url ?? '')?.[1];
      answer.setHeader('content-type', `application/x-${service}-advertisement`);
      answer.write(`${encode(`# service=${service}`)}\n0000${first.replace('.', '\0')}\n`);
      const more = (): void => {
        while (!answer.destroyed && answer.write(chunk));
      };
      answer.on('drain', more);
      more();
    });
    server.listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/x`;
    for (const argv of commandsFor(url)) {
      const { stderr, code, bytes } = await measureUwf(dir, argv);
      expect([code, stderr], argv.join(' ')).toEqual([1, expect.stringContaining('refs without end')]);
      expect(bytes).toBeLessThan(mostBytes);
    }
  }, 240_000);
});
