import { execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadSource } from './lib/load-source.js';
import { longThreadSources, writeLongThread } from './lib/long-thread.js';
import { quietEnvironment } from './lib/quiet-environment.js';
import { command, uwfCommand } from './lib/run-command.js';
import { temporaryFolder } from './lib/temporary-folder.js';

const stepsPerThread = 2000;
const nodesPerStep = 6;

/** Finding a node by its hash in a large repository. */
export const lookup = {
  name: 'lookup',
  summary: 'nodes found by their hash among very many, and the index of them worked out again from the refs',
  isSlow: true,

  async *compare({ quick, rounds = quick ? 200 : 1000, folder: parent }) {
    const threads = quick ? 4 : 84;
    const source = await loadSource(...longThreadSources, 'src/cas/lookup.ts');
    const { path: folder, remove } = temporaryFolder(parent);
    const options = { cwd: folder, env: quietEnvironment() };
    const title = `${(threads * stepsPerThread * nodesPerStep).toLocaleString('en')} nodes`;
    try {
      execFileSync('git', ['init', '--quiet', '--bare'], options);
      const writer = await source.openRepository(folder);
      for (let at = 0; at < threads; at += 1)
        await writeLongThread(source, writer, stepsPerThread, { seed: at * stepsPerThread });
      await writer.close();
      execFileSync('git', ['repack', '-a', '-d', '-q', '--window=0'], options);
      yield {
        what: `${title}: the index worked out from the refs, beside git's walk over all objects`,
        base: 'git rev-list --objects --all',
        rounds: 1,
        contestants: {
          'git rev-list --objects --all': command(['git', 'rev-list', '--objects', '--all'], options),
          'uwf reindex': uwfCommand(['reindex'], options),
        },
      };

      const records = someRecords(join(folder, 'uwf/lookup'), rounds + 1);
      const batch = openBatch(options);
      const open = await source.openRepository(folder);
      const nodes = source.repositoryNodes(open);
      yield {
        what: `${title}: a random one read; uwf is given its hash, git its object id`,
        base: 'git cat-file --batch, kept open',
        rounds,
        contestants: {
          'git cat-file --batch, kept open': (round) => batch.read(records[round]?.oid),
          uwf: async (round) => {
            if ((await nodes.find(records[round]?.hash)) === undefined) throw new Error('a node is missing');
          },
        },
      };
      batch.close();
      await open.close();

      const { hash, oid } = records[0] ?? {};
      yield {
        what: `${title}: one read by a new process`,
        base: 'node -e 0',
        rounds: 15,
        contestants: {
          'node -e 0': command([process.execPath, '-e', '0'], options),
          'git cat-file blob': command(['git', 'cat-file', 'blob', oid], options),
          'uwf cas get': uwfCommand(['cas', 'get', hash], options),
        },
      };
      yield {
        what: `${title}: the repository opened and the first one found, within a process`,
        base: 'uwf',
        rounds: 15,
        inProcess: true,
        contestants: {
          uwf: async () => {
            const repository = await source.openRepository(folder);
            await source.repositoryNodes(repository).find(hash);
            await repository.close();
          },
        },
      };
    } finally {
      remove();
    }
  },
};

/** Hashes and object ids of nodes, evenly spread over the lookup. */
function someRecords(path, count) {
  // The first line is a header; those of commits begin with `~`.
  const lines = readFileSync(path, 'latin1')
    .split('\n')
    .slice(1)
    .filter((line) => /^\w/.test(line));
  return Array.from({ length: count }, (_, at) => {
    const [hash, oid] = (lines[(at * 7919) % lines.length] ?? '').split(' ');
    return { hash, oid };
  });
}

/** git's own long-lived reader, with one request at a time. */
function openBatch(options) {
  const child = spawn('git', ['cat-file', '--batch'], { ...options, stdio: ['pipe', 'pipe', 'inherit'] });
  return {
    read(oid) {
      return new Promise((resolve, reject) => {
        let got = '';
        const take = (data) => {
          got += data.toString('latin1');
          const [, size] = /^\S+ \S+ (\d+)\n/.exec(got) ?? [];
          if (size === undefined && got.endsWith(' missing\n')) reject(new Error(`${oid} is missing`));
          if (size === undefined || got.length < got.indexOf('\n') + 1 + Number(size) + 1) return;
          child.stdout.off('data', take);
          resolve(undefined);
        };
        child.stdout.on('data', take);
        child.stdin.write(`${oid}\n`);
      });
    },
    close: () => child.stdin.end(),
  };
}
