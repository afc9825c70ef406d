#!/usr/bin/env node
// `npm run demo`: builds a repository with a bug in its history, lets uwf find the commit that introduced it, and shows the
// run in uwf and in git. Needs only Node and git: no model, no network.
//
//   npm run demo              removes the repository at the end
//   npm run demo -- --keep    keeps it
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { gitIn, plantRepository } from './demo/planted-repository.js';
import { ensure, root } from './ensure.js';

const workflow = 'find-regression';

/** The task of a user; find-regression.yaml describes its form. */
const task = 'test: node test.js\ngood: v1.0\nbad: HEAD';

const { values } = parseArgs({ options: { keep: { type: 'boolean', default: false } } });

/** A fixed author and no configuration of the machine, so that the demo is the same everywhere. */
function demoEnvironment(folder) {
  const kept = Object.entries(process.env).filter(([name]) => !/^(GIT_|UWF_)/.test(name));
  return {
    ...Object.fromEntries(kept),
    PATH: `${path.join(root, 'bin')}${path.delimiter}${process.env.PATH}`,
    GIT_CONFIG_GLOBAL: process.platform === 'win32' ? 'NUL' : '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_AUTHOR_NAME: 'Ada',
    GIT_AUTHOR_EMAIL: 'ada@example.org',
    GIT_COMMITTER_NAME: 'Ada',
    GIT_COMMITTER_EMAIL: 'ada@example.org',
    GIT_PAGER: 'cat',
    XDG_CONFIG_HOME: path.join(folder, '.git/home/config'),
    XDG_STATE_HOME: path.join(folder, '.git/home/state'),
  };
}

const strong = (text) => (process.stdout.isTTY && !process.env.NO_COLOR ? `\u001b[1m${text}\u001b[0m` : text);
const say = (text = '') => process.stdout.write(`${text}\n`);

/** Prints a command and runs it in this terminal, as if a user had typed it. */
function show(place, program, argv) {
  const words = [program, ...argv].map((word) => (/^[\w./:=@^-]+$/.test(word) ? word : `'${word}'`));
  say(`\n${strong(`$ ${words.join(' ')}`)}`);
  const command = program === 'uwf' ? [process.execPath, path.join(root, 'bin/uwf.js')] : [program];
  const result = spawnSync(command[0], [...command.slice(1), ...argv], { ...place, stdio: 'inherit' });
  if (result.status !== 0) throw new Error(`'${program} ${argv[0]}' ended with exit code ${result.status}`);
}

function demonstrate(folder) {
  const env = demoEnvironment(folder);
  const place = { cwd: folder, env };
  const git = gitIn(folder, env);

  git('init', '--quiet', '--initial-branch=main');
  const repository = plantRepository(folder, { git });
  git('tag', 'v1.0', repository.good);
  const planted = repository.planted.slice(0, 10);
  say(`A small shop in ${folder}: ${repository.count} commits since v1.0, and since one of them 'node test.js' fails.`);
  say(`(It is number ${repository.place}, ${planted}; uwf is not told.)`);

  show(place, 'uwf', ['init', '--with', workflow]);
  show(place, 'uwf', ['run', workflow, '-p', task]);

  const ref = git('for-each-ref', '--format=%(refname)', 'refs/history').trim();
  const thread = ref.split('/').at(-1);
  show(place, 'uwf', ['log', thread]);
  show(place, 'git', ['log', '--graph', '--oneline', ref]);

  const found = foundCommit(git, ref);
  if (found !== repository.planted) throw new Error(`it found ${found}, but ${repository.planted} was planted`);
  say(`\n${strong(`Found: ${planted}, the commit that was planted.`)}`);
  return { thread, ref };
}

/** The commit that the last step reports. */
function foundCommit(git, ref) {
  const step = JSON.parse(git('show', `${ref}^:step.json`));
  return step.payload.meta.firstBad;
}

function sayWhereToLook(folder, { thread, ref }) {
  /** @type {[command: string, what: string][]} */
  const rows = [
    [`uwf thread show ${thread}`, 'what is known about the run'],
    [`uwf thread read ${thread}`, 'every word of it'],
    [`git ls-tree -r --name-only ${ref}^`, 'its last step, as files'],
    [`cat .uwf/workflows/${workflow}.yaml`, 'the workflow; docs/workflows.md of uwf says how to write one'],
  ];
  const width = Math.max(...rows.map(([command]) => command.length));
  say(values.keep ? '\nWhere to look next:' : "\nWhere to look next, after 'npm run demo -- --keep':");
  if (values.keep) say(`  cd ${folder}; PATH=${path.join(root, 'bin')}:$PATH`);
  for (const [command, what] of rows) say(`  ${command.padEnd(width)}  ${what}`);
}

if (await ensure()) {
  // Ctrl-C reaches the running command; this process only cleans up.
  process.on('SIGINT', () => {});
  const folder = mkdtempSync(path.join(tmpdir(), 'uwf-demo-'));
  try {
    const run = demonstrate(folder);
    sayWhereToLook(folder, run);
  } catch (error) {
    process.stderr.write(`\nThe demo failed: ${error.message}\n`);
    process.exitCode = 1;
  } finally {
    if (values.keep) say(`\nKept: ${folder}`);
    else rmSync(folder, { recursive: true, force: true });
  }
} else {
  process.exitCode = 1;
}
