import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const uwf = fileURLToPath(new URL('../../bin/uwf.js', import.meta.url));
const steps = 4;

const workflow = `name: bench
description: a few short turns
roles:
  writer:
    description: writes a line
    systemPrompt: Write a line.
    extractPrompt: Say that you are done.
    schema: { type: object, properties: { $status: { const: done } }, required: [$status] }
moderator:
  - { from: __start__, to: writer, when: null }
  - { from: writer, to: writer, when: "$visits('writer') < ${steps}" }
  - { from: writer, to: __end__, when: null }
`;

const config = `agents:
  echo:
    package: "builtin:command"
    config: { argv: [node, -e, 'process.stdout.write("---\\n$status: done\\n---\\nA line.\\n")'] }
defaultAgent: echo
`;

const identity = {
  GIT_AUTHOR_NAME: 'Bench',
  GIT_AUTHOR_EMAIL: 'bench@example.org',
  GIT_COMMITTER_NAME: 'Bench',
  GIT_COMMITTER_EMAIL: 'bench@example.org',
};

/** The machine's environment without variables that slow Node down or change git. */
function quietEnvironment() {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(GIT_|UWF_|NODE_EXTRA_CA_CERTS$|NODE_OPTIONS$)/.test(name),
  );
  return {
    ...Object.fromEntries(kept),
    ...identity,
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
    UWF_TRUST: 'all',
  };
}

function countFiles(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).length;
}

/**
 * Makes a repository with one ended thread of a few steps, with uwf alone.
 *
 * @returns its folder, the environment for commands in it, the thread and its ref, the number of files that each step added
 *   below `.git`, and `remove`
 */
export function makeBenchRepository() {
  const folder = mkdtempSync(path.join(tmpdir(), 'uwf-bench-'));
  const env = quietEnvironment();
  const run = (program, ...argv) => execFileSync(program, argv, { cwd: folder, env, encoding: 'utf8' });
  const runUwf = (...argv) =>
    JSON.parse(
      run(process.execPath, uwf, ...argv, '--json')
        .trim()
        .split('\n')
        .at(-1) ?? '',
    );

  run('git', 'init', '--quiet', '--initial-branch=main');
  run('git', 'commit', '--quiet', '--allow-empty', '--message', 'one');
  mkdirSync(path.join(folder, '.uwf/workflows'), { recursive: true });
  writeFileSync(path.join(folder, '.uwf/workflows/bench.yaml'), workflow);
  writeFileSync(path.join(folder, '.uwf/config.yaml'), config);

  const { thread } = runUwf('thread', 'start', 'bench', '-p', 'Write.');
  const gitFolder = path.join(folder, '.git');
  const filesPerStep = Array.from({ length: steps }, () => {
    const before = countFiles(gitFolder);
    runUwf('thread', 'step', thread);
    return countFiles(gitFolder) - before;
  });
  const ref = run('git', 'for-each-ref', '--format=%(refname)', 'refs/history').trim();

  return {
    folder,
    env,
    uwf,
    thread,
    ref,
    filesPerStep,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
