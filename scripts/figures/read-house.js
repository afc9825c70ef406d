import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import ts from '@typescript/typescript6';

/**
 * What there is in some files of src/.
 *
 * @typedef {object} Figures
 * @property {number} lines
 * @property {number} files
 * @property {number} imports statements with a relative path
 * @property {number} twice files with two such statements for one module
 * @property {number} lazy `import()` of relative paths
 * @property {number} exports names that the files declare and export
 * @property {number} functions that run in a step
 * @property {number} covered files of which a function runs in a step
 */

/**
 * What there is in a checkout.
 *
 * @typedef {object} House
 * @property {Map<string, Figures>} rooms
 * @property {Figures} sum of the rooms
 * @property {number} testLines
 * @property {Record<'rooms' | 'folders' | 'files', string[]>} circles of imports among each kind: what is in one, as one text
 */

/** @returns {Figures} */
export const noFigures = () => ({
  lines: 0,
  files: 0,
  imports: 0,
  twice: 0,
  lazy: 0,
  exports: 0,
  functions: 0,
  covered: 0,
});

/**
 * Reads the source and the tests of a checkout.
 *
 * @param {string} folder
 * @param {string[]} chosen the rooms that count; none for all
 * @param {Map<string, string[]>} step the functions that run in a step, by their file
 * @returns {House}
 */
export function readHouse(folder, chosen, step) {
  /** @type {House['rooms']} */
  const rooms = new Map();
  const sum = noFigures();
  /** @type {[from: string, to: string][]} */
  const edges = [];
  for (const { name, text } of readFiles(path.join(folder, 'src'), /\.tsx?$/)) {
    const room = name.includes('/') ? roomOf(name) : '(beside)';
    if (chosen.length > 0 && !chosen.includes(room)) continue;
    const { imports, lazy, exports } = readSyntax(name, text);
    for (const to of imports) edges.push([name, path.posix.join(path.posix.dirname(name), to)]);
    const functions = step.get(name)?.length ?? 0;
    const more = {
      lines: linesOf(text),
      files: 1,
      imports: imports.length,
      twice: new Set(imports).size < imports.length ? 1 : 0,
      lazy,
      exports,
      functions,
      covered: functions === 0 ? 0 : 1,
    };
    const known = rooms.get(room) ?? noFigures();
    rooms.set(room, known);
    for (const figures of [known, sum]) for (const key of keys) figures[key] += more[key];
  }
  const tests = readFiles(path.join(folder, 'test'), /\.(?:[cm]?js|tsx?)$/);
  const testLines = tests.reduce((lines, { text }) => lines + linesOf(text), 0);
  const circles = {
    rooms: circlesOf(edges, roomOf),
    folders: circlesOf(edges, (name) => (name.includes('/') ? path.posix.dirname(name) : name)),
    files: circlesOf(edges, (name) => name),
  };
  return { rooms, sum, testLines, circles };
}

const keys = /** @type {(keyof Figures)[]} */ (Object.keys(noFigures()));

/** The folder directly under src/; a file beside the rooms is its own. */
const roomOf = (/** @type {string} */ name) => (name.includes('/') ? name.slice(0, name.indexOf('/')) : name);

const linesOf = (/** @type {string} */ text) => text.split('\n').length - 1;

/** The files below a folder with some ending, by their names relative to it, with their texts. */
function readFiles(/** @type {string} */ folder, /** @type {RegExp} */ ending) {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll(path.sep, '/'))
    .filter((name) => ending.test(name) && !name.includes('node_modules/'))
    .toSorted()
    .map((name) => ({ name, text: readFileSync(path.join(folder, name), 'utf8') }));
}

/**
 * Reads the syntax of a file.
 *
 * @param {string} name
 * @param {string} text
 * @returns the relative paths of its import statements, its number of `import()`s, and how many names it declares and exports
 */
function readSyntax(name, text) {
  const source = ts.createSourceFile(name, text, ts.ScriptTarget.Latest);
  /** @type {string[]} */
  const imports = [];
  let lazy = 0;
  let exports = 0;
  const isRelative = (/** @type {ts.Expression | undefined} */ from) =>
    from !== undefined && ts.isStringLiteral(from) && from.text.startsWith('.');
  for (const statement of source.statements) {
    if (ts.isImportDeclaration(statement) || ts.isExportDeclaration(statement)) {
      const from = statement.moduleSpecifier;
      if (from !== undefined && ts.isStringLiteral(from) && isRelative(from)) imports.push(from.text);
      const names = ts.isExportDeclaration(statement) && from === undefined ? statement.exportClause : undefined;
      if (names !== undefined && ts.isNamedExports(names)) exports += names.elements.length;
    } else if (ts.canHaveModifiers(statement)) {
      const isExport = statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true;
      const names = ts.isVariableStatement(statement) ? statement.declarationList.declarations.length : 1;
      if (isExport) exports += names;
    }
  }
  const visit = (/** @type {ts.Node} */ node) => {
    const isImport = ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword;
    if (isImport && isRelative(node.arguments[0])) lazy += 1;
    ts.forEachChild(node, visit);
  };
  visit(source);
  return { imports, lazy, exports };
}

/**
 * Finds what imports each other, directly or through others.
 *
 * @param {[from: string, to: string][]} edges the imports, by the names of files
 * @param {(name: string) => string} nodeOf what a file belongs to; an import within it is left out
 * @returns {string[]} the names in each circle, sorted, as one text
 */
function circlesOf(edges, nodeOf) {
  /** @type {Map<string, Set<string>>} */
  const targets = new Map();
  for (const [file, imported] of edges) {
    const from = nodeOf(file);
    const to = nodeOf(imported);
    if (from !== to) targets.set(from, (targets.get(from) ?? new Set()).add(to));
  }
  const reached = new Map(
    [...targets].map(([node, direct]) => {
      const all = new Set(direct);
      // A set goes on with what is added to it meanwhile.
      for (const next of all) for (const further of targets.get(next) ?? []) all.add(further);
      return [node, all];
    }),
  );
  const reaches = (/** @type {string} */ one, /** @type {string} */ other) => reached.get(one)?.has(other) === true;
  const inCircles = [...reached.keys()].filter((node) => reaches(node, node)).toSorted();
  const circleOf = (/** @type {string} */ node) =>
    inCircles.filter((other) => reaches(node, other) && reaches(other, node)).join(' ');
  return [...new Set(inCircles.map(circleOf))];
}
