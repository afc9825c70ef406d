import type { JsonValue } from '../../json.ts';
import type { Diagnostic } from '../diagnostics/diagnostic.ts';
import { Report } from '../diagnostics/report.ts';
import { loadSources } from './load-sources.ts';
import { readValues } from './read-values.ts';
import { SourceMap, type SourceText } from './source-map.ts';
import type { SourceReader } from './source-reader.ts';

/** A workflow's file and its includes as one JSON value, with the place of each of its parts. */
export type ParsedSource = {
  /** `undefined` if the file, or one that it includes, has no value: checks would report all that is missing. */
  value: JsonValue | undefined;
  map: SourceMap;
  sources: ReadonlyMap<string, SourceText>;
  diagnostics: Diagnostic[];
};

/**
 * Parses a YAML 1.2 or JSON file with its anchors, merges and `!include`s.
 *
 * Mistakes of notation are diagnostics, never exceptions, all of them at once.
 * @throws {SourceUnreadable} if the file itself cannot be read
 */
export async function parseSource(file: string, reader: SourceReader): Promise<ParsedSource> {
  const loaded = await loadSources(file, reader);
  const map = new SourceMap(loaded.root.source);
  const report = new Report(map);
  report.addAll(loaded.diagnostics);
  const read = await readValues(loaded, map, report);
  const files = [loaded.root, ...loaded.included.values()];
  const isWhole = files.every(({ document, text }) => document !== undefined || text !== undefined);
  return { value: isWhole ? read : undefined, map, sources: loaded.sources, diagnostics: report.diagnostics() };
}
