import { posix } from 'node:path';
import { type LoadedWorkflowFile, loadWorkflowFile } from '../../src/workflow/load/resolve-workflow.ts';
import { type SourceReader, SourceUnreadable } from '../../src/workflow/source/read-source.ts';

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

/** What was found, as `line severity code: the text that is underlined`, in order. */
export function findings({ diagnostics, sources }: Pick<LoadedWorkflowFile, 'diagnostics' | 'sources'>): string[] {
  return diagnostics.map(({ file, line, column, length, severity, code }) => {
    const marked = sources
      .get(file)
      ?.line(line)
      ?.slice(column - 1, column - 1 + length);
    return `${line} ${severity} ${code}: ${marked}`;
  });
}
