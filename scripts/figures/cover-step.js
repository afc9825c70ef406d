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
import { build, transformSync } from 'esbuild';

/** Source files that the build replaces. */
const GENERATED = [
  'schema/generated-checks.ts',
  'agent/load/generated-check.ts',
  'workflow/notation/generated-check.ts',
  'engine/config/generated-check.ts',
];

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

/**
 * Finds what one `uwf thread step` of a command agent passes through: the second step of a thread, in a repository of its own.
 *
 * Each source file is transpiled by itself, so that V8's coverage names its functions. Those that a build generates are generated
 * here too, and of them only what they export is counted.
 *
 * @param {string} root of the checkout whose step it is
 * @returns {Promise<Map<string, string[]>>} the functions that run, by their file, relative to `src/`; '' for one without a name
 */
export async function coverStep(root) {
  const scratch = mkdtempSync(path.join(tmpdir(), 'uwf-cover-step-'));
  try {
    const program = path.join(scratch, 'program');
    transpile(root, program);
    await generate(root, program);
    const folder = path.join(scratch, 'coverage');
    runStep(scratch, program, folder);
    return readCoverage(folder);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Takes two steps of a thread, the second one under coverage. */
function runStep(/** @type {string} */ scratch, /** @type {string} */ program, /** @type {string} */ coverage) {
  const repository = path.join(scratch, 'repository');
  const env = { PATH: process.env['PATH'], HOME: scratch, XDG_CONFIG_HOME: scratch, GIT_CONFIG_NOSYSTEM: '1' };
  const run = (/** @type {string[]} */ argv, more = {}) =>
    execFileSync(process.execPath, [path.join(program, 'main.js'), ...argv], {
      cwd: repository,
      env: { ...env, ...more },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  const git = (/** @type {string[]} */ ...argv) => execFileSync('git', argv, { cwd: repository, env });
  mkdirSync(path.join(scratch, 'uwf'));
  writeFileSync(path.join(scratch, 'uwf/config.yaml'), config);
  mkdirSync(repository);
  git('init', '-q');
  git('config', 'user.name', 'a');
  git('config', 'user.email', 'a@b');
  git('commit', '-q', '--allow-empty', '-m', 'one');
  writeFileSync(path.join(repository, 'loop.yaml'), workflow);
  run(['workflow', 'add', 'loop.yaml']);
  const { thread } = JSON.parse(run(['thread', 'start', 'loop', '--prompt', 'go', '--json']));
  run(['thread', 'step', thread]);
  run(['thread', 'step', thread], { NODE_V8_COVERAGE: coverage });
}

function transpile(/** @type {string} */ root, /** @type {string} */ out) {
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
async function generate(/** @type {string} */ root, /** @type {string} */ out) {
  const plugins = await import(path.join(root, 'scripts/build/generated-checks.js')).then(
    ({ generatedChecksPlugin }) => [generatedChecksPlugin],
    () => [],
  );
  /** @type {import('esbuild').Plugin} */
  const apart = {
    name: 'apart',
    setup: (bundle) =>
      bundle.onResolve({ filter: /^\..*\.ts$/ }, ({ path: request, importer }) =>
        importer.startsWith(path.join(root, 'src/'))
          ? { path: request.replace(/\.ts$/, '.js'), external: true }
          : undefined,
      ),
  };
  for (const name of plugins.length === 0 ? [] : GENERATED) {
    await build({
      entryPoints: [path.join(root, 'src', name)],
      outfile: path.join(out, 'src', name.replace(/\.ts$/, '.js')),
      bundle: true,
      platform: 'node',
      format: 'esm',
      plugins: [...plugins, apart],
    });
  }
}

/** @returns {Map<string, string[]>} */
function readCoverage(/** @type {string} */ folder) {
  /** @type {Map<string, Map<string, string>>} */
  const perFile = new Map();
  for (const name of readdirSync(folder)) {
    const { result } = JSON.parse(readFileSync(path.join(folder, name), 'utf8'));
    for (const { url, functions } of result) {
      const [, inner] = /\/program\/src\/(.*)\.js$/.exec(url) ?? [];
      if (inner === undefined) continue;
      const file = `${inner}.ts`;
      // The first function of a module is the module itself.
      for (const { functionName, ranges } of functions.slice(1)) {
        if (ranges[0].count === 0 || (GENERATED.includes(file) && !/^(?:check|is)[A-Z]/.test(functionName))) continue;
        const known = perFile.get(file) ?? new Map();
        perFile.set(file, known.set(`${functionName}@${ranges[0].startOffset}`, functionName));
      }
    }
  }
  return new Map([...perFile].toSorted().map(([file, known]) => [file, [...known.values()]]));
}
