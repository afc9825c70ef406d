'use strict';
const fs = require('node:fs');
const { Script } = require('node:vm');

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
 * whether it can use it, and where it cannot be read or written all works without. It lies beside the program, where who
 * can write it could write the program as well; where that is read-only, in the user's own cache folder.
 *
 * A program without a digest is loaded by Node as ever. A program with one never says `import()`: in a script from a cache
 * Node 20 does not know who asks.
 *
 * @param folder of the programs, absolute
 * @param argv the words after `uwf`
 * @param env where the user's cache folder is looked up (XDG Base Directory Specification)
 */
exports.createLoader = function createLoader(folder, argv, env) {
  const programs = new Map();
  const commands = likelyCommands(argv);
  const home = env.XDG_CACHE_HOME || (env.HOME && `${env.HOME}/.cache`);
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
      if (script.cachedDataRejected === undefined) writeCache(cacheFolders, cacheName(name, command), script);
    }
  }

  return { load, keep };
};

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

function readCache(folders, names) {
  for (const folder of folders) {
    for (const name of names) {
      try {
        return fs.readFileSync(`${folder}/${name}`);
      } catch {
        // Not there, or not to be read.
      }
    }
  }
  return undefined;
}

function writeCache(folders, name, script) {
  for (const folder of folders) {
    const file = `${folder}/${name}`;
    if (fs.existsSync(file)) return;
    try {
      fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
      const temporary = `${file}.${process.pid}.tmp`;
      const descriptor = fs.openSync(temporary, 'wx', 0o600);
      try {
        fs.writeSync(descriptor, script.createCachedData());
        // V8 does not look for damage: the name must not stand for half a file after a power cut.
        fs.fsyncSync(descriptor);
      } finally {
        fs.closeSync(descriptor);
      }
      fs.renameSync(temporary, file);
      return;
    } catch {
      // Read-only, or full: the next folder, or none.
    }
  }
}
