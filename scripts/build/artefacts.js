/**
 * What a build makes, and from what.
 *
 * - `cli` and `evaluator` are programs: CommonJS, everything bundled, because an ES module as the entry costs a fifth
 *   of node's own start, and every file that node must find costs again. `cli` comes in parts, because every byte
 *   that V8 must look at costs too: the first tells what this machine remembers, then come objects, what they say, pushes,
 *   other remotes, and last all else. A part that is needed as a whole is evaluated at once, without a wrapper for
 *   each file.
 * - `import-module` is the one place that says `import()` of a file that is known only then: apart, because a program that
 *   says so cannot be loaded from V8's code cache.
 * - `library` is what programs import: one ES module whose packages stay packages, with declarations. `agent-contract` is
 *   another, for the tests of who writes an agent.
 */
export const artefacts = [
  {
    name: 'cli',
    kind: 'program',
    entry: 'src/cli/main.ts',
    parts: [
      {
        output: 'cli.cjs',
        files: [
          'src/cli/main.ts',
          'src/cli/commands/log.ts',
          'src/cli/commands/thread/list.ts',
          'src/cli/commands/thread/show.ts',
          'src/cli/help/version.ts',
        ],
      },
      {
        output: 'cli-store.cjs',
        isAtOnce: true,
        files: [
          'src/git/disk/disk-object-store.ts',
          'src/git/object-batch.ts',
          'src/git/publish.ts',
          'src/git/read.ts',
          'src/git/ref-store.ts',
        ],
      },
      {
        output: 'cli-nodes.cjs',
        files: [
          'src/cli/commands/cas/get.ts',
          'src/cli/help/overview.ts',
          'src/cli/log/graph.ts',
          'src/cli/log/read-log.ts',
          'src/thread/find-children.ts',
        ],
      },
      {
        output: 'cli-push.cjs',
        isAtOnce: true,
        files: [
          'src/cli/commands/push.ts',
          'src/git/disk/lock-records.ts',
          'src/git/disk/ref-transaction.ts',
          'src/git/folder/folder-remote.ts',
          'src/sync/push-threads.ts',
        ],
      },
      {
        output: 'cli-remote.cjs',
        isAtOnce: true,
        files: ['src/git/native/bundle-remote.ts', 'src/git/native/native-remote.ts'],
      },
      { output: 'cli-late.cjs' },
    ],
  },
  { name: 'import-module', entry: 'src/agent/import-module.ts', output: 'import-module.cjs', kind: 'program' },
  { name: 'evaluator', entry: 'src/expression/evaluator-main.ts', output: 'evaluator.cjs', kind: 'program' },
  { name: 'library', entry: 'src/index.ts', output: 'index.js', kind: 'library' },
  { name: 'agent-contract', entry: 'src/agent/contract-suite/index.ts', output: 'agent-contract.js', kind: 'library' },
];

/**
 * Packages that take long to load. Each becomes a file of its own in `dist/vendor`, read when the code that asks for it
 * runs. Packages of one group share their file, and so one copy of what they have in common: ajv-formats extends ajv's
 * code generator, whose classes must be the same ones.
 */
export const vendorGroups = {
  acp: ['@agentclientprotocol/sdk'],
  ai: ['ai', '@ai-sdk/openai-compatible'],
  ajv: ['ajv', 'ajv-formats'],
  commander: ['commander'],
  'isomorphic-git': ['isomorphic-git'],
  jsonata: ['jsonata'],
  liquidjs: ['liquidjs'],
  mcp: ['@modelcontextprotocol/sdk'],
  semver: ['semver'],
  yaml: ['yaml'],
};

/** Files and folders (from the package's root) on which what is built depends. */
export const inputs = [
  'src',
  'scripts/build',
  'scripts/build.js',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
];
