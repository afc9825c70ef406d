import { resolve } from 'node:path';
import { describeMissing } from '../../git/format/paths.ts';
import type { Repository } from '../../git/repository.ts';
import { type RestoredStep, restoreStep } from '../../thread/step-files.ts';
import type { CommitOf } from '../../thread/thread-state.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';
import type { Output } from '../output/output.ts';
import { pathPrinter } from '../output/path-printer.ts';

/** Puts the files that a step left into a new linked work tree, and says what is missing there. */
export async function restoreHere(
  cli: CliEnvironment,
  out: Output,
  repository: Repository,
  step: CommitOf<'step'>,
  folder: string,
): Promise<RestoredStep> {
  const restored = await restoreStep(repository, cli.env, step, resolve(cli.cwd, folder));
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
