#!/usr/bin/env node
// CommonJS, because Node starts an ES module a fifth slower. Everything that each start needs is in this file, because each
// further file costs time.
'use strict';
const fs = require('node:fs');
const { isAbsolute } = require('node:path');
const { Script } = require('node:vm');

/** The exit code of a mistake in uwf itself (`EX_SOFTWARE`, sysexits.h). */
const bug = 70;

const root = __dirname.slice(0, -'bin'.length);
const dist = `${root}dist`;

const MORE_FILES =
  "hint: raise the limit with 'ulimit -n', or close other programs, and repeat; nothing that was stored is lost\n";
const CUT_OFF = "hint: 'uwf thread list' shows whether a thread was cut off\n";

/** Runs the command line that this process was given. */
function run() {
  const argv = process.argv.slice(2);
  process.on('uncaughtException', (/** @type {Error & { code?: string, hint?: string }} */ error) => {
    // The reader closed the pipe (`uwf log | head -1`). This ends the command and is no error. Commands that run agents have
    // a listener of their own, which ends the agents first.
    if (error?.code === 'EPIPE' && process.stdout.listenerCount('error') === 0) process.exit();
    if (error?.code === 'output-failed') {
      // A terminal, or /dev/full, reports later that it cannot be written to.
      process.stderr.write(`uwf: ${error.message}\nhint: ${error.hint}\n`);
      process.exit(1);
    }
    const isOthers = originOf(error) === 'elsewhere';
    if (!isOthers && (error?.code === 'EMFILE' || error?.code === 'ENFILE')) {
      // Where they are used up before the program is read, it cannot say so.
      const who = error.code === 'ENFILE' ? 'this machine' : 'this process';
      process.stderr.write(`uwf: ${who} has as many files open as it may\n${MORE_FILES}`);
      process.exit(1);
    }
    const whose = isOthers ? "code that is not uwf's, such as an agent package, has ended it" : 'this is a bug in uwf';
    process.stderr.write(`uwf: ${whose}\n${error?.stack ?? error}\n${isOthers ? CUT_OFF : ''}`);
    process.exit(isOthers ? 1 : bug);
  });
  process.on('unhandledRejection', (/** @type {any} */ error) => {
    if (originOf(error) === 'uwf') throw error;
    // An agent package did not wait for something of its own. Its turn, and threads that run beside it, need not end for that.
    process.stderr.write(`uwf: a promise that nobody waits for was rejected: ${error?.stack ?? error}\n`);
  });

  const loader = createLoader(dist, argv, process.env);
  const program = loadProgram(loader);
  if (program === undefined) {
    process.stderr.write("uwf: it has not been built yet; run 'npm run build' in its folder\n");
    process.exitCode = bug;
  } else {
    process.once('beforeExit', endStuck);
    process.once('exit', failEarly);
    void program.main(argv, { givenAtMs: performance.timeOrigin }).then((code) => {
      process.off('beforeExit', endStuck);
      process.off('exit', failEarly);
      process.exitCode = code;
      // A command that failed has compiled little of its code, and the cache would keep that for good. What was compiled under
      // other flags V8 would refuse.
      if (code === 0 && !program.hasOtherFlags()) loader.keep(program.commandNameOf(argv));
      // An exit saves the millisecond or two that Node takes to clean up.
      if (program.isAllWritten()) process.exit();
    });
  }
}

/**
 * Fails a command that waits when nothing is left that could wake the process: node would end it as if all were well. An agent
 * package that has lost the promise of its reply does that.
 */
function endStuck() {
  const what = 'the command waits for something that can no longer come, such as an agent that lost its reply';
  process.stderr.write(`uwf: ${what}\n${CUT_OFF}`);
  process.exit(1);
}

/**
 * Fails a command in whose midst an agent package has called `process.exit`: a script would take its 0 for a run that is over.
 *
 * uwf itself ends commands that run agents, which are those that listen to signals, with 1, 70 and 130 only.
 */
function failEarly(/** @type {number} */ code) {
  if ([1, bug, 130].includes(code) || process.listenerCount('SIGTERM') === 0) return;
  process.exitCode = 1;
  process.stderr.write(`uwf: something in this process, such as an agent package, has called process.exit\n${CUT_OFF}`);
}

/** Tells whose code made an error, by the first file in its stack; undefined if that has none. */
function originOf(/** @type {any} */ error) {
  const [, path] = /[( ](?:file:\/\/)?(\/[^()\n]*):\d+:\d+\)?$/m.exec(error?.stack) ?? [];
  if (path === undefined) return undefined;
  return path.startsWith(root) || path.startsWith(encodeURI(root)) ? 'uwf' : 'elsewhere';
}

/** The program; undefined if it was not built. */
function loadProgram(loader) {
  try {
    return loader.load('cli.cjs');
  } catch (error) {
    if (error.code !== 'ENOENT' || fs.existsSync(`${dist}/cli.cjs`)) throw error;
    return undefined;
  }
}

/** What the build writes in front of a program that may be cached: a digest of all that follows. */
const digestOf = /^[^/]*\/\*([0-9a-f]{16})\*\//;

/**
 * Loads the programs of a folder with the code that V8 compiled of them earlier.
 *
 * Without a cache V8 compiles the first part of the command line on every start, which takes a third of Node's own start.
 * `keep` stores what V8 has compiled for a command, with the functions that were called. A later `load` for the same command
 * takes a fraction of that time.
 *
 * A cache belongs to a digest of the program, a version of Node, an architecture and Node's options, and V8 checks whether it
 * can use it. Everything works without it. A damaged cache would end the process, so it is compared with its copy first. It is
 * beside the program: a user who can write there could change the program, too. If that folder is read-only, it is in the
 * user's own cache folder.
 *
 * Node loads a program without a digest as usual. A program with one has no `import()`, which Node 20 cannot resolve in a
 * script from a cache.
 *
 * @param folder of the programs, absolute
 * @param argv the words after `uwf`
 * @param env where the user's cache folder is looked up (XDG Base Directory Specification)
 */
function createLoader(folder, argv, env) {
  const programs = new Map();
  const modules = new Map();
  const commands = likelyCommands(argv);
  // V8 uses no cache that was made under other flags.
  const flags = [...process.execArgv, env.NODE_OPTIONS ?? ''].join(' ').trim();
  // A relative path is ignored: it would run code from the current folder.
  const home = [env.XDG_CACHE_HOME, env.HOME && `${env.HOME}/.cache`].find((path) => path && isAbsolute(path));
  const cacheFolders = [`${folder}/.code-cache`, ...(home ? [`${home}/uwf/code-cache`] : [])];

  /** Loads a program of the folder by its name: `cli.cjs`. */
  function load(name) {
    const known = programs.get(name);
    if (known !== undefined) return known.exports;
    const file = `${folder}/${name}`;
    const source = sourceOf(file);
    const digest = digestOf.exec(source)?.[1];
    if (digest === undefined) return require(file);
    const cached = `${name.replaceAll('/', '-')}-${digest}`;
    const names = commands.map((command) => cacheName(cached, command, flags));
    const script = new Script(source, {
      filename: file,
      cachedData: readCache(cacheFolders, names),
    });
    const program = { exports: {}, name: cached, script };
    programs.set(name, program);
    script.runInThisContext()(program.exports, requireFrom, program, file, folder);
    return program.exports;
  }

  /** A module that a program imports: `./cli-nodes.cjs#src/cas/hash.ts` is one that another program has. */
  function requireFrom(request) {
    const known = modules.get(request);
    if (known !== undefined) return known;
    const [file, name] = request.split('#');
    const found = request.startsWith('./') ? load(file.slice(2)) : builtin(request);
    const module = name === undefined ? found : found.modules[name]();
    modules.set(request, module);
    return module;
  }

  /** Has what was compiled for a command kept, unless that was done before. */
  function keep(command) {
    for (const { script, name } of programs.values()) {
      // Undefined where there was no cache, false where V8 has used it.
      if (script.cachedDataRejected !== undefined) continue;
      require('./keep-code.js').keepCode(cacheFolders, cacheName(name, command, flags), script);
    }
  }

  return { load, keep };
}

/** Node has loaded these before it runs a program. */
const loadedModules = new Set(['node:fs', 'node:path', 'node:url', 'node:util']);

/**
 * One of Node's own modules. It is loaded when something in it is first used, not when it is imported: `node:crypto` alone
 * takes 4 ms, and a command that prints what is cached hashes nothing.
 */
function builtin(name) {
  if (!name.startsWith('node:') || loadedModules.has(name)) return require(name);
  const lazy = Object.create(
    new Proxy(
      {},
      {
        get(_target, member) {
          const loaded = require(name);
          Object.setPrototypeOf(lazy, loaded);
          return loaded[member];
        },
      },
    ),
  );
  return lazy;
}

/** What is read here: one place for all files, because fresh memory for 5 MB of them takes 3 ms of a step. */
let shared = Buffer.allocUnsafeSlow(2 ** 20);

const head = '(function (exports, require, module, __filename, __dirname) {';
const tail = '\n})';

/** The program of a file as a function. A program with a digest is ASCII, which takes no decoding. */
function sourceOf(file) {
  const bytes = readShared(file, head.length, tail.length);
  bytes.write(head, 0, 'latin1');
  bytes.write(tail, bytes.length - tail.length, 'latin1');
  return bytes.toString('latin1');
}

/** Reads a file to where the next call reads the next one, with some room before and after it. */
function readShared(file, before = 0, after = 0) {
  const fd = fs.openSync(file, 'r');
  try {
    const { size } = fs.fstatSync(fd);
    if (before + size + after > shared.length) shared = Buffer.allocUnsafeSlow(before + size + after);
    return shared.subarray(0, before + fs.readSync(fd, shared, before, size, 0) + after);
  } finally {
    fs.closeSync(fd);
  }
}

/** Possible names of the command: `log` and `log x` of `uwf log x`. Only the program can tell, and it is not loaded yet. */
function likelyCommands(argv) {
  if (argv.includes('--help') || argv.includes('-h')) return ['help'];
  let place = 0;
  while (argv[place]?.startsWith('-')) place += argv[place] === '-C' ? 2 : 1;
  const [first = '', second = '-'] = argv.slice(place, place + 2);
  const commands = second.startsWith('-') ? [first, `${first} list`] : [`${first} ${second}`, first];
  return commands.filter((command) => /^[a-z]*( [a-z]+)?$/.test(command));
}

function cacheName(program, command, flags) {
  const name = `${program}-${command.replace(' ', '-')}-${process.version}-${process.arch}`;
  return flags === '' ? name : `${name}-${flags.replaceAll(/[^\w.=-]/g, '_').slice(-100)}`;
}

/** Reads the first sound cache. Damaged caches are removed, so that they are written again. */
function readCache(folders, names) {
  for (const folder of folders) {
    for (const name of names) {
      const file = `${folder}/${name}`;
      try {
        const code = soundHalfOf(readShared(file));
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
