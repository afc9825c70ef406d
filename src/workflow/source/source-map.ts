import { UwfError } from '../../errors.ts';
import { formatPath } from '../../schema/explain-errors.ts';

/** Where something lies in a parsed value: `['roles', 'writer', 'limits']`. Array items are numbers. */
export type Path = readonly (string | number)[];

type Span = { source: SourceText; start: number; end: number };

/** How the characters of a string value lie in its file. */
type Layout =
  /** One after the other, from `start`. */
  | { kind: 'verbatim'; start: number }
  /** As the lines of a block scalar, each behind `indent` columns, from `firstLine` on. */
  | { kind: 'block'; firstLine: number; indent: number };

type Entry = { key?: Span; value?: Span; layout?: Layout };

/** What a diagnostic points at: the key, the value, or a character of a string value. */
export type DiagnosticTarget = 'key' | 'value' | { offset: number; length?: number };

/**
 * The place of each key and value of a parsed document, in the file that it comes from.
 *
 * The place of a value from an alias or a merge is that of its anchor.
 */
export class SourceMap {
  readonly #root: SourceText;
  readonly #entries: Map<string, Entry> = new Map();

  constructor(root: SourceText) {
    this.#root = root;
  }

  setKey(path: Path, source: SourceText, start: number, end: number): void {
    this.#entry(path).key = { source, start, end };
  }

  setValue(path: Path, source: SourceText, start: number, end: number, layout?: Layout): void {
    const entry = this.#entry(path);
    entry.value = { source, start, end };
    if (layout !== undefined) entry.layout = layout;
  }

  /** The place of a path; of the nearest thing around it, if the path itself is not in the file. */
  place(path: Path, target: DiagnosticTarget = 'value'): Place {
    for (let depth = path.length; depth >= 0; depth -= 1) {
      const entry = this.#entries.get(JSON.stringify(path.slice(0, depth)));
      if (entry === undefined) continue;
      if (depth < path.length) return place(entry.key ?? entry.value) ?? this.#root.place(0);
      if (typeof target === 'object') {
        const inside = placeInside(entry, target.offset, target.length ?? 1);
        if (inside !== undefined) return inside;
      }
      const span = target === 'key' ? (entry.key ?? entry.value) : (entry.value ?? entry.key);
      return place(span) ?? this.#root.place(0);
    }
    return this.#root.place(0);
  }

  #entry(path: Path): Entry {
    const id = JSON.stringify(path);
    const known = this.#entries.get(id);
    if (known !== undefined) return known;
    const entry: Entry = {};
    this.#entries.set(id, entry);
    return entry;
  }
}

function place(span: Span | undefined): Place | undefined {
  return span?.source.place(span.start, span.end);
}

function placeInside(entry: Entry, offset: number, length: number): Place | undefined {
  const { value, layout } = entry;
  if (value === undefined || layout === undefined) return undefined;
  if (layout.kind === 'verbatim') {
    const start = layout.start + offset;
    return value.source.place(start, start + length);
  }
  // The offset counts characters of the value. Walk down the lines of the file, subtracting the length of each.
  let rest = offset;
  for (let number = layout.firstLine; ; number += 1) {
    const line = value.source.line(number);
    if (line === undefined) return undefined;
    const content = Math.max(0, line.length - layout.indent);
    if (rest <= content) {
      const start = value.source.lineStart(number) + Math.min(layout.indent, line.length) + rest;
      return value.source.place(start, start + length);
    }
    rest -= content + 1;
  }
}

/** A stretch of a source file. Lines and columns count from 1, columns in UTF-16 code units, as editors and JSONata do. */
export type Place = {
  /** As it was handed to the loader; for an included file, relative to it in the same style. */
  file: string;
  line: number;
  column: number;
  /** Code units to underline; at least 1 and never past the end of the line. */
  length: number;
};

/** A source file held in memory, which turns offsets into places. */
export class SourceText {
  readonly file: string;
  readonly text: string;
  readonly #lineStarts: number[] = [0];

  constructor(file: string, text: string) {
    this.file = file;
    this.text = text;
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) {
      this.#lineStarts.push(at + 1);
    }
  }

  /** The place of `[start, end)`, cut off at the end of the line that `start` is on. */
  place(start: number, end: number = start + 1): Place {
    const offset = Math.max(0, Math.min(start, this.text.length));
    let low = 0;
    let high = this.#lineStarts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#lineStarts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    const lineStart = this.#lineStarts[low] ?? 0;
    const lineLength = this.line(low + 1)?.length ?? 0;
    const column = offset - lineStart + 1;
    const room = lineLength - (column - 1);
    return { file: this.file, line: low + 1, column, length: Math.max(1, Math.min(end - start, room)) };
  }

  /** The text of a line (from 1) without its line break; `undefined` behind the last. */
  line(number: number): string | undefined {
    const start = this.#lineStarts[number - 1];
    if (start === undefined) return undefined;
    const next = this.#lineStarts[number];
    const line = this.text.slice(start, next === undefined ? undefined : next - 1);
    return line.endsWith('\r') ? line.slice(0, -1) : line;
  }

  /** The offset at which a line (from 1) starts; the text's length behind the last. */
  lineStart(number: number): number {
    return this.#lineStarts[number - 1] ?? this.text.length;
  }
}

/** The file name of diagnostics about a definition that came from no file. */
const NO_FILE = '(definition)';

/** What a diagnostic says beside its code, path and message. */
type ReportOptions = { hint?: string | undefined; at?: DiagnosticTarget | undefined };

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
type FormatOptions = {
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
function compareDiagnostics(a: Diagnostic, b: Diagnostic): number {
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
