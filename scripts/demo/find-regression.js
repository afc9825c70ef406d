import { gitIn, plantRepository } from './planted-repository.js';
import { say, show, strong } from './stage.js';

const workflow = 'find-regression';

/** The task of a user; find-regression.yaml describes its form. */
const task = 'test: node test.js\ngood: v1.0\nbad: HEAD';

/** Builds a repository with a bug in its history, and lets uwf find the commit. @returns where to look next */
export function findRegression({ cwd: folder, env }) {
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
  return [
    [`uwf thread show ${thread}`, 'what is known about the run'],
    [`uwf thread read ${thread}`, 'every word of it'],
    [`git ls-tree -r --name-only ${ref}^`, 'its last step, as files'],
    [`cat .uwf/workflows/${workflow}.yaml`, 'the workflow; docs/workflows.md of uwf says how to write one'],
  ];
}

/** The commit that the last step reports. */
function foundCommit(git, ref) {
  const step = JSON.parse(git('show', `${ref}^:step.json`));
  return step.payload.meta.firstBad;
}
