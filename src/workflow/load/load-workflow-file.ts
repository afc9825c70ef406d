import { dirname } from 'node:path';
import type { WorkflowDefinition } from '../definition.ts';
import { InvalidWorkflow, type Diagnostic } from '../diagnostics/diagnostic.ts';
import { Report } from '../diagnostics/report.ts';
import { reduceWorkflow } from '../notation/reduce-workflow.ts';
import { diskReader, type SourceReader } from '../source/source-reader.ts';
import { parseSource, type ParsedSource } from '../source/parse-source.ts';
import type { SourceText } from '../source/source-map.ts';
import { validateWorkflow } from '../check/validate-workflow.ts';

/** How a workflow file is read. */
export type LoadFileOptions = {
  /** The folder that `!include` must not leave: the work tree's top. Default: the file's own folder. */
  root?: string;
  /** Reads files in place of the disk; `root` has no meaning then. */
  reader?: SourceReader;
};

/** The result of reading a workflow file: its definition if it has no errors, the diagnostics, and the files to show them. */
export type LoadedWorkflowFile = {
  /** `undefined` when a diagnostic is an error. */
  definition: WorkflowDefinition | undefined;
  diagnostics: Diagnostic[];
  /** By name as in the diagnostics; for `formatDiagnostic`. */
  sources: ReadonlyMap<string, SourceText>;
};

/**
 * Reads a workflow file in any notation and checks it.
 *
 * What is wrong with its content is a diagnostic, never an exception.
 * @param file a path to `.yaml`, `.yml` or `.json`; diagnostics name it as it is given
 * @throws {SourceUnreadable} if the file itself cannot be read
 */
export async function loadWorkflowFile(file: string, options: LoadFileOptions = {}): Promise<LoadedWorkflowFile> {
  const { value, map, sources, diagnostics } = await parse(file, options);
  if (value === undefined) return { definition: undefined, diagnostics, sources };
  return { ...(await validateWorkflow(value, { file, map, diagnostics })), sources };
}

/**
 * Reads a workflow file without the checks that it can run. A user who tries a change wants to see its consequences, such as
 * roles that are not reached any more, or a path that never ends.
 *
 * @throws {SourceUnreadable} if the file cannot be read
 * @throws {InvalidWorkflow} if no roles and rules can be read from it
 */
export async function loadDraft(file: string, options: LoadFileOptions = {}): Promise<WorkflowDefinition> {
  const { value, map, sources, diagnostics } = await parse(file, options);
  if (value === undefined) throw new InvalidWorkflow(file, diagnostics, sources);
  const report = new Report(map);
  report.addAll(diagnostics);
  const { definition } = reduceWorkflow(report, value);
  if (report.hasErrors) throw new InvalidWorkflow(definition.name || file, report.diagnostics(), sources);
  return definition;
}

function parse(file: string, { reader, root }: LoadFileOptions): Promise<ParsedSource> {
  return parseSource(file, reader ?? diskReader(root ?? dirname(file)));
}
