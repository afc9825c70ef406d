import { dirname } from 'node:path';
import type { WorkflowDefinition } from './definition.ts';
import type { Diagnostic } from './diagnostic.ts';
import { diskReader } from './source/disk-reader.ts';
import { parseSource } from './source/parse-source.ts';
import type { SourceReader } from './source/source-reader.ts';
import type { SourceText } from './source/source-text.ts';
import { validateWorkflow } from './validate-workflow.ts';

/** How a workflow file is read. */
export type LoadFileOptions = {
  /** The folder that `!include` must not leave: the work tree's top. Default: the file's own folder. */
  root?: string;
  /** Reads files in place of the disk; `root` has no meaning then. */
  reader?: SourceReader;
};

/** A workflow file as it was read: its definition if it has no errors, what is wrong, and the files for showing it. */
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
  const reader = options.reader ?? diskReader(options.root ?? dirname(file));
  const { value, map, sources, diagnostics } = await parseSource(file, reader);
  if (value === undefined) return { definition: undefined, diagnostics, sources };
  return { ...(await validateWorkflow(value, { file, map, diagnostics })), sources };
}
