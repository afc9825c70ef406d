import type * as Yaml from 'yaml';
import type { Document, Scalar } from 'yaml';
import type { Diagnostic } from '../diagnostic.ts';
import { SourceText } from './source-text.ts';
import { yamlMistakes } from './yaml-mistakes.ts';

/** One file as the YAML parser reads it. */
export type ParsedFile = {
  source: SourceText;
  /** `undefined` for a text (`.md`, `.txt` …) and for a file too broken to go on with. */
  document: Document.Parsed | undefined;
  /** The value of a text; `undefined` for YAML and JSON. */
  text: string | undefined;
  /** The `!include`s in it: the node and the name it holds. */
  includes: { node: Scalar; reference: string }[];
  diagnostics: Diagnostic[];
};

/**
 * Parses one file: `.yaml`, `.yml` as YAML 1.2, `.json` as JSON, anything else as text.
 *
 * JSON is read by the YAML parser, which knows places, and by `JSON.parse`, which knows JSON.
 * @param isWorkflow whether it is YAML whatever its name: a workflow need not have an extension
 */
export async function parseFile(file: string, content: string, isWorkflow = false): Promise<ParsedFile> {
  const source = new SourceText(file, content.startsWith('\uFEFF') ? content.slice(1) : content);
  const parsed: ParsedFile = { source, document: undefined, text: undefined, includes: [], diagnostics: [] };
  if (!isWorkflow && !isStructured(file)) return { ...parsed, text: source.text };

  const found = file.endsWith('.json') ? findJsonMistake(source) : undefined;
  if (found !== undefined) return { ...parsed, diagnostics: [found] };

  const yaml = await import('yaml');
  const document = parseYaml(yaml, source);
  if (!('errors' in document)) return { ...parsed, diagnostics: [document] };
  const { found: mistakes, isBroken } = yamlMistakes(document, source);
  parsed.diagnostics.push(...mistakes);
  if (isBroken) return parsed;
  yaml.visit(document, {
    Scalar(_key, node) {
      if (node.tag === '!include') parsed.includes.push({ node, reference: String(node.value) });
    },
  });
  return { ...parsed, document };
}

/** Whether a file is YAML or JSON by its name, and no text. */
export function isStructured(file: string): boolean {
  return /\.(?:ya?ml|json)$/.test(file);
}

function parseYaml(yaml: typeof Yaml, source: SourceText): Document.Parsed | Diagnostic {
  try {
    return yaml.parseDocument(source.text, {
      version: '1.2',
      schema: 'core',
      prettyErrors: false,
      logLevel: 'error',
      customTags: [{ tag: '!include', resolve: (text: string) => text }],
    });
  } catch (error) {
    // The parser recurses: a file of ten thousand opening brackets ends in a RangeError.
    return {
      severity: 'error',
      code: 'yaml-syntax',
      message: error instanceof RangeError ? 'nested too deeply' : String(error),
      ...source.place(0),
      path: '',
    };
  }
}

function findJsonMistake(source: SourceText): Diagnostic | undefined {
  try {
    JSON.parse(source.text);
    return undefined;
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    const offset = /at position (\d+)/.exec(text)?.[1];
    const place = source.place(offset === undefined ? source.text.trimEnd().length - 1 : Number(offset));
    const message = `not JSON: ${text.replace(/ in JSON at position.*$/s, '')}`;
    return { severity: 'error', code: 'json-syntax', message, ...place, path: '' };
  }
}
