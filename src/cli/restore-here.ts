import { resolve } from 'node:path';
import { describeMissing } from '../git/native/missing-files.ts';
import type { Repository } from '../git/repository.ts';
import { restoreStep, type RestoredStep } from '../thread/restore-step.ts';
import type { StepEntry, ThreadState } from '../thread/thread-state.ts';
import type { TextOption } from './command.ts';
import type { CliContext } from './context.ts';
import type { Output } from './output/output.ts';
import { pathPrinter } from './path-printer.ts';

/** The option that says where a step's files go. */
export const worktreeOption: TextOption = {
  short: 'w',
  value: '<folder>',
  summary: 'make a linked work tree there with the files that the step left',
  candidates: 'folder',
};

/** Puts the files that a step left into a new linked work tree, and says what is missing there. */
export async function restoreHere(
  cli: CliContext,
  out: Output,
  repository: Repository,
  { steps }: Pick<ThreadState, 'steps'>,
  { commit: step }: StepEntry,
  folder: string,
): Promise<RestoredStep> {
  const before = steps.filter(({ commit: { node } }) => node.number < step.node.number);
  const earlier = before.findLast(({ commit: { node } }) => node.workspace !== undefined);
  const restored = await restoreStep(repository, cli.env, step, resolve(cli.cwd, folder), earlier?.commit);
  if (restored.missing !== undefined) {
    out.note(`uwf: step ${step.node.number} did not record everything: ${describeMissing(restored.missing)}`);
  } else if (!restored.isWhole) {
    out.note(`uwf: step ${step.node.number} could not record its files; these are those of the commit it worked on`);
  }
  if (restored.filters !== undefined) {
    const names = restored.filters.join(', ');
    out.note(`uwf: a required filter failed (${names}); files that need one are as git stores them`);
  }
  if (restored.submodules.length > 0) {
    const print = await pathPrinter(cli, repository, restored.submodules);
    const folders = restored.submodules.map(print).join(', ');
    out.hint(`submodules are empty: ${folders}; 'git submodule update --init' there fills them`);
  }
  return restored;
}
