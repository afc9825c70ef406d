#!/usr/bin/env node
// CommonJS on purpose: Node starts an ES module a fifth slower, and this is the first thing every command pays for. So is
// the next file, which is why this one has all that every start needs.
'use strict';
const fs = require('node:fs');
const { isAbsolute } = require('node:path');
const { Script } = require('node:vm');

/** The exit code of a mistake in uwf itself (`EX_SOFTWARE`, sysexits.h). */
const bug = 70;

const dist = `${__dirname.slice(0, -'bin'.length)}dist`;

/** Runs the command line that this process was given. */
function run() {
  const argv = process.argv.slice(2);
  process.on('uncaughtException', (error) => {
    // A reader that has seen enough (`uwf log | head -1`) ends the command, and that is no error. Commands at work listen
    // for it themselves, to end their agents first.
    if (error?.code === 'EPIPE' && process.stdout.listenerCount('error') === 0) process.exit();
    if (error?.code === 'output-failed') {
      // A terminal, or /dev/full, says later that it cannot be written to.
      process.stderr.write(`uwf: ${error.message}\nhint: ${error.hint}\n`);
      process.exit(1);
    }
    process.stderr.write(`uwf: this is a bug in uwf\n${error?.stack ?? error}\n`);
    process.exit(bug);
  });

  const loader = createLoader(dist, argv, process.env);
  const program = loadProgram(loader);
  if (program === undefined) {
    process.stderr.write("uwf: it has not been built yet; run 'npm run build' in its folder\n");
    process.exitCode = bug;
  } else {
    void program.main(argv).then((code) => {
      process.exitCode = code;
      // Where something went wrong little was compiled of what the command is about, and that would be kept for good.
      if (code === 0) loader.keep(program.commandNameOf(argv));
      // Node takes a millisecond or two to tidy up what the end of the process tidies up as well.
      if (program.isAllWritten()) process.exit();
    });
  }
}

/** The program, or undefined where it was not built. */
function loadProgram(loader) {
  try {
    return loader.load('cli.cjs');
  } catch (error) {
    if (error.code !== 'ENOENT' || fs.existsSync(`${dist}/cli.cjs`)) throw error;
    return undefined;
  }
}

/** What the build writes in front of a program that may be cached: a digest of all that follows. */
const digestOf = /^\/\*([0-9a-f]{16})\*\//;

/**
 * Loads the programs of a folder with the code that V8 compiled of them earlier.
 *
 * To compile the first part of the command line takes V8 a third of Node's own start, on every start. `keep` has V8 write
 * down what it has compiled for a command, the functions that were called included; a later `load` for the same command
 * takes a fraction of that.
 *
 * A cache is no truth: it belongs to a digest of the program, a version of Node and an architecture, V8 itself looks
 * whether it can use it, and where it cannot be read or written all works without. One that is damaged would end the
 * process, so it is compared with its copy first. It lies beside the program, where who can write it could write the
 * program as well; where that is read-only, in the user's own cache folder.
 *
 * A program without a digest is loaded by Node as ever. A program with one never says `import()`: in a script from a cache
 * Node 20 does not know who asks.
 *
 * @param folder of the programs, absolute
 * @param argv the words after `uwf`
 * @param env where the user's cache folder is looked up (XDG Base Directory Specification)
 */
function createLoader(folder, argv, env) {
  const programs = new Map();
  const commands = likelyCommands(argv);
  // One that is not absolute has to be ignored: code from the folder that one happens to be in would be run.
  const home = [env.XDG_CACHE_HOME, env.HOME && `${env.HOME}/.cache`].find((path) => path && isAbsolute(path));
  const cacheFolders = [`${folder}/.code-cache`, ...(home ? [`${home}/uwf/code-cache`] : [])];

  /** Loads a program of the folder by its name: `cli.cjs`. */
  function load(name) {
    const known = programs.get(name);
    if (known !== undefined) return known.exports;
    const file = `${folder}/${name}`;
    // Programs with a digest are ASCII, which takes no decoding.
    const source = fs.readFileSync(file, 'latin1');
    const digest = digestOf.exec(source)?.[1];
    if (digest === undefined) return require(file);
    const program = { exports: {}, name: `${name.replaceAll('/', '-')}-${digest}`, script: undefined };
    program.script = new Script(`(function (exports, require, module, __filename, __dirname) {${source}\n})`, {
      filename: file,
      cachedData: readCache(
        cacheFolders,
        commands.map((command) => cacheName(program.name, command)),
      ),
    });
    programs.set(name, program);
    program.script.runInThisContext()(program.exports, requireFrom, program, file, folder);
    return program.exports;
  }

  function requireFrom(request) {
    return request.startsWith('./') ? load(request.slice(2)) : require(request);
  }

  /** Has what was compiled for a command kept, unless that was done before. */
  function keep(command) {
    for (const { script, name } of programs.values()) {
      // Undefined where there was no cache, false where V8 has used it.
      if (script.cachedDataRejected !== undefined) continue;
      require('./keep-code.js').keepCode(cacheFolders, cacheName(name, command), script);
    }
  }

  return { load, keep };
}

/** What may be the command's name: `log` and `log x` of `uwf log x`. The program knows better, but is to be loaded by it. */
function likelyCommands(argv) {
  if (argv.includes('--help') || argv.includes('-h')) return ['help'];
  let place = 0;
  while (argv[place]?.startsWith('-')) place += argv[place] === '-C' ? 2 : 1;
  const [first = '', second = '-'] = argv.slice(place, place + 2);
  const commands = second.startsWith('-') ? [first, `${first} list`] : [`${first} ${second}`, first];
  return commands.filter((command) => /^[a-z]*( [a-z]+)?$/.test(command));
}

function cacheName(program, command) {
  return `${program}-${command.replace(' ', '-')}-${process.version}-${process.arch}`;
}

/** The first of some caches that is there and sound. Those that are damaged are removed, to be written again. */
function readCache(folders, names) {
  for (const folder of folders) {
    for (const name of names) {
      const file = `${folder}/${name}`;
      try {
        const code = soundHalfOf(fs.readFileSync(file));
        if (code !== undefined) return code;
      } catch (error) {
        if (error.code !== 'EISDIR') continue;
      }
      removeDamaged(file);
    }
  }
  return undefined;
}

/**
 * What a cache holds, which it holds twice: undefined if the halves differ.
 *
 * To compare 731 kB takes 0.1 ms. A checksum takes 4 ms in JavaScript, and Node's own another 2 ms to load `node:zlib`.
 */
function soundHalfOf(bytes) {
  const code = bytes.subarray(0, bytes.length / 2);
  return code.length > 0 && code.equals(bytes.subarray(code.length)) ? code : undefined;
}

function removeDamaged(file) {
  try {
    fs.rmSync(file, { recursive: true, force: true });
  } catch {
    // The folder is read-only: each start works without.
  }
}

module.exports = { createLoader, run };
if (require.main === module) run();
