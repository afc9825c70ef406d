import { formatCount } from '../../text/wording.ts';
import type { SecretPlace } from '../../thread/secret-scan.ts';
import type { Fault } from '../../verify/find-chain.ts';
import {
  type Diagnostic,
  type DiagnosticPart,
  formatDiagnostic,
  type SourceText,
} from '../../workflow/source/source-map.ts';
import { harmless, oneLine, type Palette } from './text.ts';

/** Writes what is wrong with something, a line each: the commit, the file, and what. */
export function formatFindings(
  subject: string,
  findings: readonly (Omit<Fault, 'commit'> & { commit: string | null })[],
  paint: Palette,
): string {
  const lines = findings.map(({ commit, path, what }) => {
    const place = path === null ? '' : `${oneLine(path)}: `;
    const at = commit === null ? '' : `${paint.id(commit.slice(0, 12))}  `;
    return `  ${at}${place}${oneLine(what)}`;
  });
  return [`${oneLine(subject)} ${paint.error('is not sound')}`, ...lines].join('\n');
}

/** How many places are printed. `--json` has all. */
const MAX_PLACES = 20;

/** Says where secrets are, a line each: the step, the file, the place in it, and the rule. Never the secret. */
export function secretLines(places: readonly SecretPlace[], most: number = MAX_PLACES): string[] {
  const lines = places.slice(0, most).map(({ commit, step, node, file, at, rule }) => {
    const where = step === null ? `commit ${commit.slice(0, 7)}` : `step ${step}`;
    const of = node === null ? '' : ` (${node})`;
    return `${where}  ${oneLine(file)}${of} ${oneLine(at)}  ${oneLine(rule)}`;
  });
  const more = places.length - lines.length;
  return more > 0 ? [...lines, `and ${formatCount(more)} more`] : lines;
}

/** Says what was redacted in a text, from how many secrets each rule has found. */
export function redactedLine(rules: Readonly<Record<string, number>>, whose: string = 'what was given'): string {
  const found = Object.entries(rules).map(([rule, count]) => (count === 1 ? rule : `${count} ${rule}`));
  return `redacted from ${whose}: ${found.join(', ')}; hand agents a secret with passEnv`;
}

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
