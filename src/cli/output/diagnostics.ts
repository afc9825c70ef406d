import { formatDiagnostic, type Diagnostic, type DiagnosticPart } from '../../workflow/diagnostics/diagnostic.ts';
import type { SourceText } from '../../workflow/source/source-map.ts';
import type { Palette } from './palette.ts';
import { harmless } from './width.ts';

/** Writes the mistakes of a workflow, one below the other, as compilers do. No newline at the end. */
export function formatDiagnostics(
  diagnostics: readonly Diagnostic[],
  sources: ReadonlyMap<string, SourceText>,
  paint: Palette,
): string {
  const colours: Record<DiagnosticPart, (text: string) => string> = {
    place: paint.title,
    error: paint.error,
    warning: paint.warning,
    code: paint.quiet,
    gutter: paint.quiet,
    mark: paint.error,
    hint: paint.hint,
    // A workflow may come from a remote.
    text: harmless,
  };
  const options = { sources, paint: (part: DiagnosticPart, text: string): string => colours[part](text) };
  return diagnostics.map((diagnostic) => formatDiagnostic(diagnostic, options)).join('\n\n');
}
