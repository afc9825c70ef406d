import type { Node } from 'yaml';
import { UwfError } from '../../errors.ts';
import type { Diagnostic } from '../diagnostic.ts';
import { parseFile, type ParsedFile } from './parse-file.ts';
import type { SourceReader } from './source-reader.ts';
import type { SourceText } from './source-text.ts';

/** A file with all that it includes, read and parsed. */
export type LoadedSources = {
  root: ParsedFile;
  /** What each `!include` node brought in; a broken include is absent. */
  included: ReadonlyMap<Node, ParsedFile>;
  sources: ReadonlyMap<string, SourceText>;
  diagnostics: Diagnostic[];
};

/** Includes in one workflow, at any depth. */
const MAX_INCLUDES = 200;

/**
 * Reads a file and everything it includes, each file once.
 *
 * A broken include is a diagnostic at the place of its `!include`; so is one that leads back to a file it came from.
 * @throws {SourceUnreadable} if the file itself cannot be read
 */
export async function loadSources(file: string, reader: SourceReader): Promise<LoadedSources> {
  const files = new Map<string, ParsedFile>();
  const included = new Map<Node, ParsedFile>();
  const diagnostics: Diagnostic[] = [];
  let count = 0;

  async function load(name: string, chain: readonly string[]): Promise<ParsedFile> {
    const known = files.get(name);
    if (known !== undefined) return known;
    const parsed = await parseFile(name, await reader.read(name), chain.length === 0);
    files.set(name, parsed);
    diagnostics.push(...parsed.diagnostics);
    for (const { node, reference } of parsed.includes) {
      const complain = (code: string, message: string, hint?: string): void => {
        const [start, , end] = node.range ?? [0, 0, 1];
        const place = parsed.source.place(start, Math.min(end, start + reference.length));
        diagnostics.push({
          severity: 'error',
          code,
          message,
          ...place,
          path: '',
          ...(hint === undefined ? {} : { hint }),
        });
      };
      try {
        const target = await reader.resolve(name, reference);
        count += 1;
        if (target === name || chain.includes(target)) {
          complain('include-cycle', `!include comes back to ${target}`, [...chain, name, target].join(' includes '));
        } else if (count > MAX_INCLUDES) {
          complain('include-limit', `more than ${MAX_INCLUDES} includes`);
          return parsed;
        } else {
          included.set(node, await load(target, [...chain, name]));
        }
      } catch (error) {
        if (!(error instanceof UwfError)) throw error;
        complain('include-failed', `!include: ${error.message}`, error.hint);
      }
    }
    return parsed;
  }

  const root = await load(file, []);
  const sources = new Map([...files].map(([name, parsed]) => [name, parsed.source]));
  return { root, included, sources, diagnostics };
}
