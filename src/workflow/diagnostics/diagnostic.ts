import { UwfError } from '../../errors.ts';
import type { Place, SourceText } from '../source/source-map.ts';

/** One mistake, or one thing to think about, in a workflow. */
export type Diagnostic = Place & {
  /** An error keeps the workflow from running, a warning does not. */
  severity: 'error' | 'warning';
  /** Stable, kebab-case, for programs: `unknown-role`. */
  code: string;
  /** What is wrong with which thing. */
  message: string;
  /** Where in the definition: `moderator[3].when`. Empty for the whole. */
  path: string;
  /** What to try. */
  hint?: string;
};

/** A mistake of a file's notation, which belongs to no part of the definition. */
export function notationError(code: string, message: string, place: Place, hint?: string): Diagnostic {
  return { severity: 'error', code, message, ...place, path: '', ...(hint !== undefined && { hint }) };
}

/** The parts of a formatted diagnostic, by which `paint` can colour it; `text` is a message or a line of the file. */
export type DiagnosticPart = 'place' | 'error' | 'warning' | 'code' | 'gutter' | 'mark' | 'hint' | 'text';

/** How `formatDiagnostic` writes. */
export type FormatOptions = {
  /** Files by name, to show the line; without its file only the place is written. */
  sources?: ReadonlyMap<string, SourceText>;
  /** Colours a part; default: leaves it as it is. */
  paint?: (part: DiagnosticPart, text: string) => string;
};

/** The most characters of a line that are shown: generated JSON may be one line. */
const MAX_SHOWN = 240;

/**
 * Writes a diagnostic as compilers do: place, what is wrong, the line with the place underlined, what to try.
 *
 * The first line has the form `file:line:column: severity: message [code]`, which editors understand. No newline at the end.
 */
export function formatDiagnostic(diagnostic: Diagnostic, options: FormatOptions = {}): string {
  const paint = options.paint ?? ((_part, text) => text);
  const { file, line, column, severity, code, message, hint } = diagnostic;
  const out = [
    `${paint('place', `${file}:${line}:${column}:`)} ${paint(severity, `${severity}:`)} ${paint('text', message)} ${paint('code', `[${code}]`)}`,
  ];
  const text = options.sources?.get(file)?.line(line);
  if (text !== undefined) {
    const number = String(line);
    const gutter = ' '.repeat(number.length);
    const from = text.length > MAX_SHOWN ? Math.max(0, column - 1 - MAX_SHOWN / 2) : 0;
    const to = Math.min(text.length, from + MAX_SHOWN);
    const shown = `${from > 0 ? '…' : ''}${text.slice(from, to)}${to < text.length ? '…' : ''}`;
    // Tabs are kept, so that the mark stands below what it marks however wide the terminal makes them.
    const before = `${from > 0 ? ' ' : ''}${text.slice(from, column - 1).replaceAll(/[^\t]/g, ' ')}`;
    const mark = '^'.repeat(Math.min(diagnostic.length, MAX_SHOWN));
    out.push(
      `  ${paint('gutter', `${number} |`)} ${paint('text', shown)}`,
      `  ${paint('gutter', `${gutter} |`)} ${before}${paint('mark', mark)}`,
    );
  }
  if (hint !== undefined) out.push(`  ${paint('hint', 'hint:')} ${paint('text', hint)}`);
  return out.join('\n');
}

/** Orders diagnostics by file, then place; at the same place, errors first. */
export function compareDiagnostics(a: Diagnostic, b: Diagnostic): number {
  if (a.file !== b.file) return a.file < b.file ? -1 : 1;
  return a.line - b.line || a.column - b.column || Number(a.severity > b.severity) - Number(a.severity < b.severity);
}

/** A workflow cannot be used because it has errors. Carries all of them. */
export class InvalidWorkflow extends UwfError {
  readonly diagnostics: readonly Diagnostic[];
  /** The files of the diagnostics, for `formatDiagnostic`. */
  readonly sources: ReadonlyMap<string, SourceText>;

  constructor(name: string, diagnostics: readonly Diagnostic[], sources: ReadonlyMap<string, SourceText> = new Map()) {
    const errors = diagnostics.filter((diagnostic) => diagnostic.severity === 'error');
    const [first] = errors;
    const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
    super(
      `workflow ${name} has ${errors.length === 1 ? 'a mistake' : `${errors.length} mistakes`}: ${first?.message ?? ''}${more}`,
      {
        code: 'invalid-workflow',
        kind: 'data',
        hint: `run 'uwf workflow validate ${name}' to see every mistake with its place`,
      },
    );
    this.diagnostics = diagnostics;
    this.sources = sources;
  }
}
