import ts, { type SourceFile, type Statement } from '@typescript/typescript6';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { packageRoot } from '../../src/git/system/process-identity.ts';

/** A file of declarations: all that an entry of the package offers. */
type Entry = { file: SourceFile; exported: ReadonlySet<string>; declarations: ReadonlyMap<string, Statement[]> };

type Library = { entry: string; output: string };

type Declarations = {
  writeDeclarations(root: string, folder: string, libraries: readonly Library[]): Promise<string[]>;
};

const intro = `# The public API

This page is made of the documentation in the sources: \`npm run api\` writes it anew.

\`\`\`ts
import { createEngine, loadConfig, openRepository } from 'uwf';
\`\`\`

- What is absent is \`undefined\`. \`null\` stands in what is stored or printed as JSON, and where an argument says "none".
- Every error that uwf raises on purpose is a \`UwfError\`. Its \`code\` says which one it is and does not change; the lists
  below name the codes.
- The library never prints, exits, or reads the environment or the home directory.
`;

/**
 * Makes the declarations of the package and describes them.
 *
 * @returns the signatures without comments (`surface`), and the page that documents them
 */
export async function describeApi(): Promise<{ surface: string; page: string }> {
  // Plain JavaScript, as the build is.
  const script = new URL('../../scripts/build/declarations.js', import.meta.url).href;
  const { writeDeclarations } = (await import(script)) as Declarations;
  const folder = mkdtempSync(path.join(tmpdir(), 'uwf-api-'));
  try {
    const [index = '', contract = ''] = await writeDeclarations(packageRoot(), folder, [
      { entry: 'src/index.ts', output: 'index.js' },
      { entry: 'src/agent/contract-suite/index.ts', output: 'agent-contract.js' },
    ]);
    const main = readEntry(path.join(folder, index));
    const suite = readEntry(path.join(folder, contract));
    return {
      surface: `// uwf\n\n${surfaceOf(main)}\n// uwf/agent-contract\n\n${surfaceOf(suite)}`,
      page: pageOf(main, suite),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function parse(file: string): SourceFile {
  return ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.ES2023, true);
}

function readEntry(path: string): Entry {
  const file = parse(path);
  const exported = new Set<string>();
  const declarations = new Map<string, Statement[]>();
  for (const statement of file.statements) {
    if (ts.isExportDeclaration(statement)) for (const name of exportsOf(statement)) exported.add(name);
    else declarations.set(nameOf(statement), [...(declarations.get(nameOf(statement)) ?? []), statement]);
  }
  return { file, exported, declarations };
}

function nameOf(statement: Statement): string {
  if (ts.isVariableStatement(statement)) return statement.declarationList.declarations[0]?.name.getText() ?? '';
  const isNamed =
    ts.isFunctionDeclaration(statement) || ts.isClassDeclaration(statement) || isTypeDeclaration(statement);
  if (!isNamed) throw new Error(`a declaration of a kind that is not expected: ${statement.getText()}`);
  return statement.name?.text ?? '';
}

function isTypeDeclaration(statement: Statement): statement is ts.TypeAliasDeclaration | ts.InterfaceDeclaration {
  return ts.isTypeAliasDeclaration(statement) || ts.isInterfaceDeclaration(statement);
}

/** What is exported, and then what that refers to, each by name. */
function surfaceOf({ file, exported, declarations }: Entry): string {
  const printer = ts.createPrinter({ removeComments: true });
  const lines = [...declarations].map(([name, statements]) => {
    const word = exported.has(name) ? 'export ' : '';
    const texts = statements.map((each) => printer.printNode(ts.EmitHint.Unspecified, each, file));
    return { key: `${word === '' ? 1 : 0}${name}`, text: texts.map((text) => `${word}${plain(text)}\n`).join('') };
  });
  return lines
    .toSorted((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ text }) => text)
    .join('\n');
}

function plain(declaration: string): string {
  return declaration.replace(/^declare /, '');
}

function pageOf(main: Entry, suite: Entry): string {
  const codes = errorCodes();
  const ofSuite = [...suite.exported].filter((name) => !main.exported.has(name));
  return [
    intro,
    ...sectionsOfIndex().map(({ title, names }) => section(title, names, main, codes)),
    section('`uwf/agent-contract`: tests of agents', ofSuite, suite, codes),
  ].join('\n');
}

function section(title: string, names: readonly string[], { declarations }: Entry, codes: Map<string, string>): string {
  const members = names.flatMap((name) => (declarations.get(name) ?? []).map((statement) => ({ name, statement })));
  const values = members.filter(({ statement }) => !isTypeDeclaration(statement));
  const types = members.filter(({ statement }) => isTypeDeclaration(statement));
  return [
    `## ${title}\n`,
    ...values.map(({ name, statement }) => describeValue(name, statement, codes)),
    ...(types.length > 0 ? [block(types.map(({ statement }) => statement.getFullText().trim()).join('\n\n'))] : []),
  ].join('\n');
}

function block(code: string): string {
  return `\`\`\`ts\n${withoutLinks(code)}\n\`\`\`\n`;
}

function describeValue(name: string, statement: Statement, codes: Map<string, string>): string {
  const [doc] = ts.getJSDocCommentsAndTags(statement).filter(ts.isJSDoc);
  const tags = (doc?.tags ?? []).map((tag) => {
    const text = withoutLinks(ts.getTextOfJSDocComment(tag.comment) ?? '').replaceAll(/\s*\n\s*/g, ' ');
    if (ts.isJSDocParameterTag(tag)) return `- \`${tag.name.getText()}\`: ${text}\n`;
    if (!ts.isJSDocThrowsTag(tag)) return `- ${tag.tagName.text} ${text}\n`;
    const error = tag.typeExpression?.type.getText() ?? 'Error';
    return `- raises \`${codes.get(error) ?? error}\` ${text}\n`;
  });
  const text = withoutLinks(ts.getTextOfJSDocComment(doc?.comment) ?? '').trim();
  const parts = [`### ${name}\n`, block(plain(statement.getText())), text === '' ? '' : `${text}\n`, tags.join('')];
  return parts.filter((part) => part !== '').join('\n');
}

/** `{@link walk}` becomes `walk`, as code. */
function withoutLinks(text: string): string {
  return text.replaceAll(/\{@link ([^}]+)\}/g, '`$1`');
}

/** The sections of src/index.ts, each under a comment of one line, and the names that they export. */
function sectionsOfIndex(): { title: string; names: string[] }[] {
  const sections: { title: string; names: string[] }[] = [];
  for (const statement of parse(path.join(packageRoot(), 'src/index.ts')).statements) {
    const names = exportsOf(statement);
    const title = names.length > 0 ? /^\n\/\/ (.+)$/m.exec(statement.getFullText())?.[1] : undefined;
    if (title !== undefined) sections.push({ title, names: [] });
    sections.at(-1)?.names.push(...names);
  }
  return sections;
}

function exportsOf(statement: Statement): string[] {
  if (!ts.isExportDeclaration(statement)) return statement.getText().startsWith('export ') ? [nameOf(statement)] : [];
  const { exportClause, moduleSpecifier } = statement;
  if (exportClause !== undefined && ts.isNamedExports(exportClause))
    return exportClause.elements.map(({ name }) => name.text);
  // `export type * from './x.ts'`
  const target = moduleSpecifier !== undefined && ts.isStringLiteral(moduleSpecifier) ? moduleSpecifier.text : '';
  return parse(path.join(packageRoot(), 'src', target)).statements.flatMap(exportsOf);
}

/** The codes of errors by the names of their classes. */
function errorCodes(): Map<string, string> {
  const folder = path.join(packageRoot(), 'src');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const classes = files.flatMap((name) => [
    ...readFileSync(path.join(folder, name), 'utf8').matchAll(/class (\w+) extends \w+ \{[^]*?\n\}/g),
  ]);
  return new Map(
    classes.flatMap(([text, name = '']) => {
      const code = /code: '([a-z-]+)'/.exec(text)?.[1];
      return code === undefined ? [] : [[name, code]];
    }),
  );
}
