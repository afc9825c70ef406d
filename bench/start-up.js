import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { makeBenchRepository } from './lib/bench-repository.js';
import { importRandomBlobs } from './lib/random-blobs.js';
import { makeLongThread } from './lib/long-thread-store.js';
import { quietEnvironment } from './lib/quiet-environment.js';
import { command, runCommand, uwf as program, uwfCommand } from './lib/run-command.js';
import { temporaryFolder } from './lib/temporary-folder.js';

const base = 'node -e 0';
/** Where nothing is remembered each command runs once, too few for a limit. */
const limit = 2;

/** A workflow of one step, whose agent costs next to nothing. */
const single = `name: single
roles:
  writer: { schema: { type: object, properties: { $status: { const: done } }, required: [$status] } }
moderator:
  - { from: __start__, to: writer, when: null }
  - { from: writer, to: __end__, when: null }
`;
const quickAgent = `agents:
  echo: { package: "builtin:command", config: { argv: [printf, '---\\n$status: done\\n---\\nA line.\\n'] } }
defaultAgent: echo
`;

/** Everyday commands, from a cold start of the process. */
export const startUp = {
  name: 'start-up',
  summary: 'commands from their start to their end, beside bare Node and git',

  async *compare({ quick, rounds = quick ? 9 : 25, folder }) {
    const small = makeBenchRepository();
    try {
      yield scene('a thread of a few steps', small, rounds);
      yield everyday(small, quick ? 5 : rounds);
    } finally {
      small.remove();
    }
    if (quick) return;
    for (const [title, make] of Object.entries({
      'a thread of 10,000 steps': (at) => makeLongThread(at, 10_000),
      'a thread of 100 steps beside a pack of 200 MB': async (at) => {
        const thread = await makeLongThread(at, 100);
        importRandomBlobs(at, 200_000, 1024);
        return thread;
      },
    })) {
      const temporary = temporaryFolder(folder);
      try {
        const { id } = await make(temporary.path);
        const repository = { folder: temporary.path, env: quietEnvironment(), thread: id, ref: `refs/threads/${id}` };
        yield scene(`${title}, lookup warm`, repository, rounds);
        yield scene(`${title}, nothing remembered`, repository, 1, () => forget(temporary.path));
      } finally {
        temporary.remove();
      }
    }
  },
};

function scene(title, { folder, env, thread, ref }, rounds, before) {
  const options = { cwd: folder, env };
  const uwf = (...words) => {
    const contestant = uwfCommand(words, options);
    return { ...contestant, before: before ?? afterFirst(contestant) };
  };
  return {
    what: title,
    base,
    rounds,
    limits: before === undefined ? { 'uwf thread show': limit, 'uwf log -n 20': limit } : {},
    contestants: {
      [base]: command([process.execPath, '-e', '0'], options),
      'uwf --version': uwf('--version'),
      'uwf thread show': uwf('thread', 'show', thread),
      'uwf log -n 20': uwf('log', '-n', '20', thread),
      'uwf thread list': uwf('thread', 'list'),
      'uwf cas get': uwf('cas', 'get', hashOf(ref, options)),
      'git log -n 20': command(['git', 'log', '-n', '20', '--first-parent', ref], options),
    },
  };
}

/** What people wait for, beside bare Node, each with its limit. */
function everyday({ folder, env, thread }, rounds) {
  const options = { cwd: folder, env };
  writeFileSync(path.join(folder, '.uwf/workflows/single.yaml'), single);
  writeFileSync(path.join(folder, '.uwf/config.yaml'), quickAgent);
  let count = 0;
  let started = '';
  const uwf = (...words) => ({ run: () => uwfCommand(words, options).run() });
  const start = () => {
    const said = runCommand([process.execPath, program, 'thread', 'start', 'single', '-p', 'Write.'], options);
    started = String(said).trim();
  };
  const anew = () => forget(folder);
  const commands = {
    'uwf thread show, no .git/uwf': [2.5, { ...uwf('thread', 'show', thread), before: anew }],
    'uwf log -n 20, no .git/uwf': [2.5, { ...uwf('log', '-n', '20', thread), before: anew }],
    'uwf thread read': [3, uwf('thread', 'read', thread)],
    'uwf cas put': [3, { run: () => uwfCommand(['cas', 'put', `text ${(count += 1)}`], options).run() }],
    'uwf thread fork': [3, uwf('thread', 'fork', thread)],
    'uwf workflow list': [3, uwf('workflow', 'list')],
    'uwf workflow validate': [3, uwf('workflow', 'validate', 'single')],
    'uwf thread start': [4.8, uwf('thread', 'start', 'single', '-p', 'Write.')],
    'uwf thread step': [6.5, { before: start, run: () => uwfCommand(['thread', 'step', started], options).run() }],
    'uwf run, one step': [6.8, uwf('run', 'single', '-p', 'Write.')],
  };
  return {
    what: 'what people wait for',
    base,
    rounds,
    limits: Object.fromEntries(Object.entries(commands).map(([name, [most]]) => [name, most])),
    contestants: {
      [base]: command([process.execPath, '-e', '0'], options),
      ...Object.fromEntries(Object.entries(commands).map(([name, [, contestant]]) => [name, contestant])),
    },
  };
}

/** Measures the peak memory of a repeated command: the first run fills the caches. */
function afterFirst({ run, before }) {
  let isFirst = true;
  return () => {
    if (isFirst) run();
    isFirst = false;
    before();
  };
}

/** The hash of the newest node of a thread. */
function hashOf(ref, options) {
  const argv = ['log', '-1', '--format=%(trailers:key=Uwf-Node,valueonly)', ref];
  return execFileSync('git', argv, { ...options, encoding: 'utf8' }).trim();
}

/** Removes all that uwf remembers of a repository. */
function forget(folder) {
  rmSync(path.join(folder, '.git/uwf'), { recursive: true, force: true });
}
