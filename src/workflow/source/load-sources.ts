import type { Node } from 'yaml';
import { UwfError } from '../../errors.ts';
import type { Diagnostic } from '../diagnostic.ts';
import { isStructured, parseFile, type ParsedFile } from './parse-file.ts';
import { SourceUnreadable, type SourceReader } from './source-reader.ts';
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
/** Characters of YAML and JSON in all files of a workflow: hostile YAML takes the parser a thousand times as much memory. */
const MAX_SOURCE = 128 * 1024;
/** Characters in all its files. */
const MAX_TEXT = 1024 * 1024;

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
  let source = 0;
  let text = 0;

  async function read(name: string, isSource: boolean): Promise<string> {
    const content = await reader.read(name);
    text += content.length;
    if (isSource) source += content.length;
    if (source <= MAX_SOURCE && text <= MAX_TEXT) return content;
    const [limit, what] = source > MAX_SOURCE ? [MAX_SOURCE, ' of YAML or JSON'] : [MAX_TEXT, ''];
    throw new SourceUnreadable(`'${name}'`, `makes more than ${limit} characters${what} in this workflow`, {
      hint: 'a workflow is written by hand; keep long texts in files that agents read themselves',
    });
  }

  async function load(name: string, chain: readonly string[]): Promise<ParsedFile> {
    const known = files.get(name);
    if (known !== undefined) return known;
    const isWorkflow = chain.length === 0;
    const parsed = await parseFile(name, await read(name, isWorkflow || isStructured(name)), isWorkflow);
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
