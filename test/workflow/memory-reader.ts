import { posix } from 'node:path';
import { loadWorkflowFile, type LoadedWorkflowFile } from '../../src/workflow/load-workflow-file.ts';
import { SourceUnreadable, type SourceReader } from '../../src/workflow/source/source-reader.ts';

/** Files in memory, below one root, as the parser reads them. */
export function memoryReader(files: Readonly<Record<string, string>>): SourceReader {
  return {
    read(file) {
      const text = files[file];
      return text === undefined
        ? Promise.reject(new SourceUnreadable(`'${file}'`, 'does not exist'))
        : Promise.resolve(text);
    },
    resolve(from, reference) {
      return Promise.resolve(posix.join(posix.dirname(from), reference));
    },
  };
}

/** Loads a workflow from its text. */
export function loadText(text: string, file = 'sample.yaml'): Promise<LoadedWorkflowFile> {
  return loadWorkflowFile(file, { reader: memoryReader({ [file]: text }) });
}

/** What was found, as `line:column severity code`, in order. */
export function findings({ diagnostics }: Pick<LoadedWorkflowFile, 'diagnostics'>): string[] {
  return diagnostics.map(({ line, column, severity, code }) => `${line}:${column} ${severity} ${code}`);
}
