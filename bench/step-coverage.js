#!/usr/bin/env node
// Counts what one `uwf thread step` passes through: the source files of which a function runs, and the functions that run.
//
//   node bench/step-coverage.js [<folder of another checkout>] [--list]
//
// Each source file is transpiled by itself, so that V8's coverage names its functions; those that a build generates are
// generated here too, and only what they export is counted. `--list` prints what was counted.
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, transformSync } from 'esbuild';

const words = process.argv.slice(2).filter((word) => word !== '--list');
const root = path.resolve(words[0] ?? fileURLToPath(new URL('..', import.meta.url)));
const scratch = mkdtempSync(path.join(tmpdir(), 'uwf-step-coverage-'));
const out = path.join(scratch, 'program');
const repository = path.join(scratch, 'repository');

/** Source files that the build replaces. */
const GENERATED = ['schema/json-schema/draft-check'];

const workflow = `
name: loop
description: one role, over and over
roles:
  coder:
    description: says ok
    systemPrompt: say ok
    extractPrompt: say ok
    schema: { type: object, properties: { $status: { enum: [ok, done] } }, required: [$status] }
moderator:
  - { from: __start__, to: coder }
  - { from: coder, to: __end__, when: 'status = "done"' }
  - { from: coder, to: coder }
`;
const agent =
  "let s='';process.stdin.on('data',(d)=>(s+=d)).on('end',()=>console.log('---\\n$status: ok\\n---\\nfine'))";
const config = `agents:\n  me: { package: "builtin:command", config: { argv: [${JSON.stringify(process.execPath)}, -e, ${JSON.stringify(agent)}] } }\ndefaultAgent: me\n`;

try {
  transpile();
  await generate();
  const environment = { PATH: process.env['PATH'], HOME: scratch, XDG_CONFIG_HOME: scratch, GIT_CONFIG_NOSYSTEM: '1' };
  const run = (args, more = {}) =>
    execFileSync(process.execPath, [path.join(out, 'main.js'), ...args], {
      cwd: repository,
      env: { ...environment, ...more },
      encoding: 'utf8',
    });
  mkdirSync(path.join(scratch, 'uwf'));
  writeFileSync(path.join(scratch, 'uwf/config.yaml'), config);
  execFileSync('git', ['init', '-q', repository]);
  execFileSync('git', [
    '-C',
    repository,
    '-c',
    'user.name=a',
    '-c',
    'user.email=a@b',
    'commit',
    '-q',
    '--allow-empty',
    '-m',
    'one',
  ]);
  execFileSync('git', ['-C', repository, 'config', 'user.name', 'a']);
  execFileSync('git', ['-C', repository, 'config', 'user.email', 'a@b']);
  writeFileSync(path.join(repository, 'loop.yaml'), workflow);
  run(['workflow', 'add', 'loop.yaml']);
  const { thread } = JSON.parse(run(['thread', 'start', 'loop', '--prompt', 'go', '--json']));
  run(['thread', 'step', thread]);
  const folder = path.join(scratch, 'coverage');
  run(['thread', 'step', thread], { NODE_V8_COVERAGE: folder });
  report(folder);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

function transpile() {
  for (const name of readdirSync(path.join(root, 'src'), { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.ts')) continue;
    const source = readFileSync(path.join(root, 'src', name), 'utf8');
    const { code } = transformSync(source, { loader: 'ts', format: 'esm', target: 'node20.19', keepNames: false });
    const file = path.join(out, 'src', name.replace(/\.ts$/, '.js'));
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, code.replaceAll(/(["'])(\.{1,2}\/[^"'\n]*)\.ts\1/g, '$1$2.js$1'));
  }
  // What the source imports as it is: tables in JSON.
  cpSync(path.join(root, 'src'), path.join(out, 'src'), {
    recursive: true,
    filter: (file) => statSync(file).isDirectory() || file.endsWith('.json'),
  });
  cpSync(path.join(root, 'package.json'), path.join(out, 'package.json'));
  symlinkSync(path.join(root, 'node_modules'), path.join(out, 'node_modules'));
  symlinkSync(path.join(root, 'bin'), path.join(out, 'bin'));
  writeFileSync(
    path.join(out, 'main.js'),
    "import { main } from './src/cli/main.js';\nprocess.exitCode = await main(process.argv.slice(2));\n",
  );
}

/** Puts the code of the build in the place of the files that it replaces. An older checkout has other plugins, or none. */
async function generate() {
  const plugins = await import(path.join(root, 'scripts/build/draft-check.js')).then(
    ({ draftCheckPlugin }) => [draftCheckPlugin],
    () => [],
  );
  const names = plugins.length === 0 ? [] : GENERATED;
  const apart = {
    name: 'apart',
    setup: (bundle) =>
      bundle.onResolve({ filter: /^\..*\.ts$/ }, ({ path: request, importer }) =>
        importer.startsWith(path.join(root, 'src/'))
          ? { path: request.replace(/\.ts$/, '.js'), external: true }
          : undefined,
      ),
  };
  for (const name of names) {
    await build({
      entryPoints: [path.join(root, 'src', `${name}.ts`)],
      outfile: path.join(out, 'src', `${name}.js`),
      bundle: true,
      platform: 'node',
      format: 'esm',
      plugins: [...plugins, apart],
    });
  }
}

function report(folder) {
  const perFile = new Map();
  for (const name of readdirSync(folder)) {
    const { result } = JSON.parse(readFileSync(path.join(folder, name), 'utf8'));
    for (const { url, functions } of result) {
      const at = url.indexOf('/program/src/');
      if (at === -1) continue;
      const file = url.slice(at + '/program/src/'.length);
      const isGenerated = GENERATED.includes(file.replace(/\.js$/, ''));
      // The first function of a module is the module itself.
      for (const { functionName, ranges } of functions.slice(1)) {
        if ((ranges[0]?.count ?? 0) === 0 || (isGenerated && !/^(?:check|is)[A-Z]/.test(functionName))) continue;
        const known = perFile.get(file) ?? new Map();
        known.set(`${functionName}@${ranges[0].startOffset}`, functionName);
        perFile.set(file, known);
      }
    }
  }
  const all = [...perFile.values()].flatMap((known) => [...known.values()]);
  const perRoom = {};
  for (const [file, known] of perFile) {
    const room = (perRoom[file.includes('/') ? file.split('/')[0] : '.'] ??= { files: 0, functions: 0, named: 0 });
    room.files += 1;
    room.functions += known.size;
    room.named += [...known.values()].filter((name) => name !== '').length;
  }
  console.log(
    `files ${perFile.size}, functions ${all.length}, of which named ${all.filter((name) => name !== '').length}`,
  );
  console.table(perRoom);
  if (!process.argv.includes('--list')) return;
  for (const [file, known] of [...perFile].toSorted())
    console.log(`${file}: ${[...known.values()].filter(Boolean).join(' ')}`);
}
