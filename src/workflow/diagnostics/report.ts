import { formatPath } from '../../schema/explain-errors.ts';
import type { DiagnosticTarget, Path, SourceMap } from '../source/source-map.ts';
import { compareDiagnostics, type Diagnostic } from './diagnostic.ts';

/** The file name of diagnostics about a definition that came from no file. */
const NO_FILE = '(definition)';

/** What a diagnostic says beside its code, path and message. */
export type ReportOptions = { hint?: string | undefined; at?: DiagnosticTarget | undefined };

/** Collects the diagnostics of a workflow, each with its place. */
export class Report {
  readonly #map: SourceMap | undefined;
  readonly #found: Diagnostic[] = [];

  /** @param map where the parts of the definition stand; absent for a definition that came from no file */
  constructor(map?: SourceMap) {
    this.#map = map;
  }

  error(code: string, path: Path, message: string, options?: ReportOptions): void {
    this.#add('error', code, path, message, options);
  }

  warning(code: string, path: Path, message: string, options?: ReportOptions): void {
    this.#add('warning', code, path, message, options);
  }

  /** Adds the diagnostics of the parser. */
  addAll(diagnostics: readonly Diagnostic[]): void {
    this.#found.push(...diagnostics);
  }

  get hasErrors(): boolean {
    return this.#found.some((diagnostic) => diagnostic.severity === 'error');
  }

  /** All diagnostics so far, in the order of {@link compareDiagnostics}, without duplicates. */
  diagnostics(): Diagnostic[] {
    const seen = new Set<string>();
    return this.#found
      .filter(({ file, line, column, code, message }) => {
        // An anchor that is used twice has its mistakes only once.
        const id = JSON.stringify([file, line, column, code, message]);
        return !seen.has(id) && seen.add(id);
      })
      .toSorted(compareDiagnostics);
  }

  #add(severity: Diagnostic['severity'], code: string, path: Path, message: string, options: ReportOptions = {}): void {
    const { hint, at } = options;
    const place = this.#map?.place(path, at) ?? { file: NO_FILE, line: 1, column: 1, length: 1 };
    this.#found.push({
      severity,
      code,
      message,
      ...place,
      path: formatPath(path),
      ...(hint !== undefined && { hint }),
    });
  }
}
