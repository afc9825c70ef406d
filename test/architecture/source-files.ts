import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** One import of a source file, whatever its syntax. */
export type SourceImport = {
  specifier: string;
  /** Gone after compilation: `import type`, `export type … from`, `typeof import()`. */
  isTypeOnly: boolean;
  /** `import()` as an expression: loaded when the code runs. */
  isDynamic: boolean;
};

export type SourceFile = {
  /** Relative to `src/`, with forward slashes: `git/format/objects.ts`. */
  name: string;
  /** The folder directly under `src/`; '' for files beside the rooms. */
  room: string;
  /** Without comments. */
  code: string;
  lines: number;
  imports: SourceImport[];
};

const sourceFolder = fileURLToPath(new URL('../../src', import.meta.url));

/** Every TypeScript file under `src/`, sorted by name. */
export function readSourceFiles(): SourceFile[] {
  return readdirSync(sourceFolder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => name.replaceAll(path.sep, '/'))
    .toSorted()
    .map((name) => {
      const text = readFileSync(path.join(sourceFolder, name), 'utf8');
      const code = withoutComments(text);
      const room = name.includes('/') ? name.slice(0, name.indexOf('/')) : '';
      return { name, room, code, lines: text.split('\n').length - 1, imports: importsOf(code) };
    });
}

/** Blanks comments; what merely looks like one inside a string, a template or a regular expression stays. */
export function withoutComments(text: string): string {
  const tokens =
    /'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`|(?<=[(,=:[!&|?{};\n]\s*)\/(?![*/])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/|\/\/[^\n]*|\/\*[^]*?\*\//g;
  return text.replace(tokens, (token) => (/^\/[/*]/.test(token) ? '' : token));
}

const statement = /(?:^|\n)\s*(?:import|export)\s+(?<type>type\s+)?(?:[^;'"`]*?\sfrom\s+)?'(?<specifier>[^']+)'/g;
const expression = /(?<before>typeof|[:<|&,])?\s*\bimport\(\s*'(?<specifier>[^']+)'\s*\)/g;

/** Finds the imports of a file that the project's formatter has formatted (single quotes, one statement a line). */
export function importsOf(code: string): SourceImport[] {
  const named = [...code.matchAll(statement)].map(({ groups }) => ({
    specifier: groups?.['specifier'] ?? '',
    isTypeOnly: groups?.['type'] !== undefined,
    isDynamic: false,
  }));
  const dynamic = [...code.matchAll(expression)].map(({ groups }) => ({
    specifier: groups?.['specifier'] ?? '',
    isTypeOnly: groups?.['before'] !== undefined && groups['before'] !== ',',
    isDynamic: true,
  }));
  return [...named, ...dynamic];
}

/** The file (relative to `src/`) that a relative import of another file names; undefined for packages. */
export function targetOf(from: string, specifier: string): string | undefined {
  return specifier.startsWith('.') ? path.posix.join(path.posix.dirname(from), specifier) : undefined;
}

const declaration =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:function\*?|class|const|let|type|interface|enum) +(\w+)/gm;

/** The names that a file declares and exports; those that it passes on from another are that one's. */
export function exportedNames(code: string): string[] {
  return [...new Set([...code.matchAll(declaration)].map(([, name = '']) => name))];
}
