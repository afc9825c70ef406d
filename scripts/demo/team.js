import { cpSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { root } from '../ensure.js';
import { gitIn } from './planted-repository.js';
import { say, show, strong } from './stage.js';

/**
 * Has three coders work at once in work trees of their own, an arbiter bring together what two of them changed in one line, and
 * three reviewers read the result. @returns where to look next
 */
export function buildAsTeam({ cwd: folder, env }) {
  const git = gitIn(folder, env);
  const place = { cwd: folder, env };

  git('init', '--quiet', '--initial-branch=main');
  cpSync(path.join(root, 'scripts/demo/team'), folder, { recursive: true });
  git('add', '--all');
  git('commit', '--quiet', '--message', 'Write reports as text');
  say(`A program in ${folder} that writes reports as text. It is to write CSV and JSON, too.`);

  show(place, 'uwf', ['init', '--with', 'build-phases']);
  show(place, 'uwf', ['init', '--with', 'parallel-review']);
  git('add', '--all');
  git('commit', '--quiet', '--message', 'Add workflows');
  show(place, 'uwf', ['trust', '--all']);

  say(`\n${strong('Each phase has a coder in a work tree of its own. Two of them change the same line.')}`);
  // The person answers later: nothing runs meanwhile.
  const run = ['run', 'build-phases', '-p', 'Write reports as CSV and JSON, too.'];
  show(place, 'uwf', run, { expected: 4, stdin: 'ignore' });
  const thread = git('for-each-ref', '--format=%(refname:lstrip=2)', 'refs/threads').trim();
  show(place, 'uwf', ['thread', 'code', thread]);
  show(place, 'uwf', ['thread', 'resume', thread, '-p', 'accepted'], { stdin: 'ignore' });
  show(place, 'uwf', ['thread', 'merge', thread]);

  say(`\n${strong('Three reviewers read it at once. Two that agree decide, and the third is cancelled.')}`);
  show(place, 'uwf', ['run', 'parallel-review', '-p', 'Review the last commit.'], { stdin: 'ignore' });

  show(place, 'uwf', ['log', '--graph', thread]);
  const ref = git('for-each-ref', '--format=%(refname)', 'refs/history')
    .split('\n')
    .find((name) => name.endsWith(thread));
  show(place, 'git', ['log', '--graph', '--format=%h %an: %s', ref]);
  const formats = readFileSync(path.join(folder, 'src/formats.mjs'), 'utf8');
  if (!formats.includes("['text', 'csv', 'json']")) throw new Error(`the formats are ${formats}`);
  say(`\n${strong('Built by three, merged, tested, accepted and reviewed: text, csv and json.')}`);
  return [
    [`uwf thread show ${thread}`, 'what is known about the run, and its branches'],
    [`uwf thread read ${thread}`, 'every word of it'],
    ['uwf web', 'the branches beside each other on a time line'],
    ['cat .uwf/workflows/build-phases.yaml', 'the workflow; docs/workflows.md of uwf says how to write one'],
  ];
}
