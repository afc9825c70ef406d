import { dirname } from 'node:path';
import type { WorkflowDefinition } from './definition.ts';
import { InvalidWorkflow } from './diagnostic.ts';
import type { LoadFileOptions } from './load-workflow-file.ts';
import { reduceWorkflow } from './notation/reduce-workflow.ts';
import { Report } from './report.ts';
import { diskReader } from './source/disk-reader.ts';
import { parseSource } from './source/parse-source.ts';

/**
 * Reads a workflow file as far as its notation goes, whether it could be run or not: roles that are no longer reached, or
 * a way that never ends, are what somebody who tries a change wants to see the consequences of.
 *
 * @throws {SourceUnreadable} if the file cannot be read
 * @throws {InvalidWorkflow} if it says no roles and rules
 */
export async function loadDraft(file: string, options: LoadFileOptions = {}): Promise<WorkflowDefinition> {
  const reader = options.reader ?? diskReader(options.root ?? dirname(file));
  const { value, map, sources, diagnostics } = await parseSource(file, reader);
  const report = new Report(map);
  report.addAll(diagnostics);
  if (value === undefined) throw new InvalidWorkflow(file, diagnostics, sources);
  const { definition } = reduceWorkflow(report, value);
  if (report.hasErrors) throw new InvalidWorkflow(definition.name || file, report.diagnostics(), sources);
  return definition;
}
