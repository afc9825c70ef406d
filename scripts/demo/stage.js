import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { root } from '../ensure.js';

export const strong = (text) => (process.stdout.isTTY && !process.env.NO_COLOR ? `\u001b[1m${text}\u001b[0m` : text);
export const say = (text = '') => process.stdout.write(`${text}\n`);

/** A fixed author and no configuration of the machine, so that the demo is the same everywhere. */
export function demoEnvironment(folder) {
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

/**
 * Prints a command and runs it in this terminal, as if a user had typed it.
 * @param expected the exit code that the demo expects
 */
export function show(place, program, argv, { expected = 0, stdin = 'inherit' } = {}) {
  const words = [program, ...argv].map((word) => (/^[\w./:=@^-]+$/.test(word) ? word : `'${word}'`));
  say(`\n${strong(`$ ${words.join(' ')}`)}`);
  const command = program === 'uwf' ? [process.execPath, path.join(root, 'bin/uwf.js')] : [program];
  const result = spawnSync(command[0], [...command.slice(1), ...argv], {
    ...place,
    stdio: [stdin, 'inherit', 'inherit'],
  });
  if (result.status !== expected) throw new Error(`'${program} ${argv[0]}' ended with exit code ${result.status}`);
}

/** Prints where to look next: rows of a command and what it shows. */
export function sayWhereToLook(folder, rows, { isKept, options = '' }) {
  const width = Math.max(...rows.map(([command]) => command.length));
  say(isKept ? '\nWhere to look next:' : `\nWhere to look next, after 'npm run demo -- ${options}--keep':`);
  if (isKept) say(`  cd ${folder}; PATH=${path.join(root, 'bin')}:$PATH`);
  for (const [command, what] of rows) say(`  ${command.padEnd(width)}  ${what}`);
}
