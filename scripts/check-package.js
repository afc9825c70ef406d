#!/usr/bin/env node
// `npm run package`: packs uwf, installs the package in an empty folder without a network, compiles a strict program against
// its types, and runs that program and the command line there.
//
//   npm run package -- --node 22 --node 24    also on these versions of Node, which npm fetches
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { root } from './ensure.js';

const MAX_PACKAGES = 3;
const MAX_BYTES = 12 * 1024 * 1024;

const workflow = `name: loop
description: writes twice
roles:
  writer: { description: writes, systemPrompt: You write., schema: { type: object } }
moderator:
  - { from: __start__, to: writer }
  - { from: writer, to: writer, when: "$count($steps) < 2" }
  - { from: writer, to: __end__ }
`;

const config = `agents:
  script: { package: builtin:scripted, config: { replies: { writer: ["---\\n---\\nSaid."] }, repeat: true } }
defaultAgent: script
`;

/** Ways in which a program may be compiled: with the types of Node or of browsers. */
const compilations = [
  { module: 'NodeNext', lib: ['ES2023'], types: ['node'] },
  { module: 'ESNext', moduleResolution: 'bundler', lib: ['ES2023', 'DOM'], types: [] },
];

const { values } = parseArgs({ options: { node: { type: 'string', multiple: true, default: [] } } });
const folder = mkdtempSync(path.join(tmpdir(), 'uwf-package-'));
const env = { ...process.env, UWF_TRUST: 'all', XDG_CONFIG_HOME: folder, XDG_STATE_HOME: folder };

/**
 * Runs a program and returns what it prints. An error has what it wrote to stderr.
 *
 * @param {string} program
 * @param {string[]} argv
 */
function run(program, argv, cwd = folder) {
  return execFileSync(program, argv, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
}

/** @param {string} name of a program in uwf's own node_modules @param {string[]} argv */
function runTool(name, argv) {
  run(process.execPath, [path.join(root, 'node_modules', name), ...argv], root);
}

/** @returns the package's file */
function pack() {
  /** @type {[{ filename: string, size: number }]} */
  const [{ filename, size }] = JSON.parse(run('npm', ['pack', '--json', '--pack-destination', folder], root));
  console.log(`packed: ${(size / 1e6).toFixed(1)} MB`);
  return path.join(folder, filename);
}

/** @param {string} file */
function install(file) {
  writeFileSync(path.join(folder, 'package.json'), '{ "type": "module" }\n');
  run('npm', ['install', '--offline', '--silent', '--no-audit', '--no-fund', file]);
  const modules = path.join(folder, 'node_modules');
  const packages = readdirSync(modules).filter((name) => !name.startsWith('.'));
  const bytes = diskUse(modules);
  console.log(`installed: packages ${packages.length}, MB on disk ${(bytes / 1024 / 1024).toFixed(1)}`);
  if (packages.length > MAX_PACKAGES) throw new Error(`it installs ${packages.join(', ')}`);
  if (bytes > MAX_BYTES) throw new Error('it takes more than 12 MB');
}

/** @param {string} place @returns {number} bytes of all blocks, as `du` counts */
function diskUse(place) {
  const names = readdirSync(place, { recursive: true, encoding: 'utf8' });
  return names.reduce((sum, name) => sum + statSync(path.join(place, name)).blocks * 512, 0);
}

function compile() {
  copyFileSync(path.join(import.meta.dirname, 'check-package/consumer.ts'), path.join(folder, 'consumer.ts'));
  for (const options of compilations) {
    const compilerOptions = {
      ...options,
      target: 'ES2023',
      strict: true,
      exactOptionalPropertyTypes: true,
      skipLibCheck: false,
      typeRoots: [path.join(root, 'node_modules/@types')],
    };
    writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['consumer.ts'] }));
    const tsc = path.join(root, 'node_modules/typescript/bin/tsc');
    const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8' });
    if (status !== 0) throw new Error(stdout);
    console.log(`compiled: ${options.module}`);
  }
}

/** Runs the program and the command line in a new repository. @param {string} node */
function use(node) {
  const repository = mkdtempSync(path.join(folder, 'repository-'));
  run('git', ['init', '--quiet'], repository);
  mkdirSync(path.join(repository, '.uwf/workflows'), { recursive: true });
  writeFileSync(path.join(repository, '.uwf/workflows/loop.yaml'), workflow);
  writeFileSync(path.join(repository, '.uwf/config.yaml'), config);
  const call = `console.log(await (await import('./consumer.js')).main(${JSON.stringify(repository)}, 'loop'))`;
  const steps = run(node, ['--input-type=module', '-e', call]);
  const uwf = path.join(folder, 'node_modules/uwf/bin/uwf.js');
  run(node, [uwf, 'run', 'loop', '-p', 'The task.'], repository);
  const listed = run(node, [uwf, 'thread', 'list', '--all', '--json=status'], repository);
  const version = run(node, ['--version']);
  if (steps !== '2' || listed !== '[{"status":"ended"},{"status":"ended"}]') {
    throw new Error(`wrong on Node ${version}: ${steps} steps, ${listed}`);
  }
  console.log(`works on Node ${version}: library and command line`);
}

/** Has npm fetch a version of Node. @param {string} version @returns its program */
function fetchNode(version) {
  const place = path.join(folder, `node-${version}`);
  mkdirSync(place);
  writeFileSync(path.join(place, 'package.json'), '{}\n');
  run('npm', ['install', '--silent', '--no-audit', '--no-fund', `node@${version}`], place);
  return path.join(place, 'node_modules/.bin/node');
}

try {
  const file = pack();
  runTool('publint/src/cli.js', ['--strict', file]);
  runTool('@arethetypeswrong/cli/dist/index.js', [file, '--profile', 'esm-only']);
  install(file);
  compile();
  for (const node of [process.execPath, ...values.node.map(fetchNode)]) use(node);
} catch (error) {
  const { message, stdout = '' } = /** @type {Error & { stdout?: string }} */ (error);
  console.error(`${message}\n${stdout}`);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
