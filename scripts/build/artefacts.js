/**
 * One part of a program that is made in parts.
 *
 * @typedef {object} Part
 * @property {string} output name of its file
 * @property {string[]} [files] sources that it offers to the other parts; the last part has what is left
 * @property {boolean} [isAtOnce] all its modules share one scope and are evaluated together: right for a part that is
 *   always needed as a whole
 */

/**
 * What a build makes.
 *
 * @typedef {object} Artefact
 * @property {'program' | 'library' | 'page'} kind
 * @property {string} entry the source file
 * @property {string} output name of its file
 * @property {Part[]} [parts] of a program that is made in parts; the first has the entry
 */

/**
 * - Programs are CommonJS, because Node starts an ES module a fifth slower. The command line comes in parts, because V8
 *   looks at every byte of a file that is loaded (docs/decisions/0001-one-bundle-per-entry.md).
 * - `import-module.cjs` holds the only `import()` of a path that is known at run time. It is a file of its own, because a
 *   program that contains `import()` cannot be loaded from V8's code cache.
 * - What a page loads goes to browsers: classic scripts and a style sheet.
 * - Libraries are ES modules with declarations. `errors.js` is a file of its own, so that all libraries have one class
 *   `UwfError`.
 *
 * @type {Artefact[]}
 */
export const artefacts = [
  {
    kind: 'program',
    entry: 'src/cli/main.ts',
    output: 'cli.cjs',
    parts: [
      {
        output: 'cli.cjs',
        isAtOnce: true,
        files: [
          'src/cli/main.ts',
          'src/cli/commands/log.ts',
          'src/cli/commands/thread/list.ts',
          'src/cli/commands/thread/show.ts',
        ],
      },
      // What it takes to read and write nodes and refs.
      {
        output: 'cli-nodes.cjs',
        files: [
          'src/cli/commands/cas/get.ts',
          'src/cli/commands/step.ts',
          'src/cli/commands/thread/fork.ts',
          'src/cli/commands/thread/read.ts',
          'src/cli/log/read-log.ts',
          'src/cli/trust/agree-to-git.ts',
          'src/engine/describe/read-listed.ts',
          'src/git/repository/ask-git.ts',
          'src/git/stores/ref-writer.ts',
          'src/thread/archive-list.ts',
          'src/thread/find-children.ts',
          'src/workflow/stored-blocks.ts',
          'src/workflow/notation/field-schemas.ts',
          'src/workflow/source/read-source.ts',
        ],
      },
      // What it takes to write what an agent or a person said, without its secrets.
      {
        output: 'cli-write.cjs',
        isAtOnce: true,
        files: [
          'src/cli/commands/cas/put.ts',
          'src/cli/open/open-config.ts',
          'src/engine/config/config.ts',
          'src/engine/config/parse-config.ts',
          'src/engine/redact/known-secrets.ts',
          'src/redaction/create-redactor.ts',
        ],
      },
      // What nodes are checked with; as part of the next one it made `cas put` 5 % slower.
      {
        output: 'cli-checks.cjs',
        files: ['src/schema/generated-checks.ts', 'src/schema/validator.ts'],
      },
      // Workflows: how they are read, checked and followed. With the engine in this part `workflow list` took 10 % longer.
      {
        output: 'cli-workflow.cjs',
        files: ['src/cli/commands/workflow/show.ts', 'src/workflow/nodes.ts'],
      },
      // What it takes to run a step.
      {
        output: 'cli-engine.cjs',
        isAtOnce: true,
        files: [
          'src/agent/command/command-agent.ts',
          'src/cli/commands/thread/run.ts',
          'src/cli/trust/gate.ts',
          'src/engine/engine.ts',
          'src/engine/verbs/preview-context.ts',
          'src/engine/verbs/run.ts',
          'src/engine/verbs/start.ts',
        ],
      },
      { output: 'cli-late.cjs' },
    ],
  },
  { kind: 'program', entry: 'src/agent/load/import-module.ts', output: 'import-module.cjs' },
  { kind: 'program', entry: 'src/expression/evaluation/evaluator-main.ts', output: 'evaluator.cjs' },
  { kind: 'program', entry: 'src/web/drawing/layout-worker.ts', output: 'layout-worker.cjs' },
  { kind: 'page', entry: 'src/web/browser/page.ts', output: 'web/page.js' },
  { kind: 'page', entry: 'src/web/browser/stream-worker.ts', output: 'web/stream-worker.js' },
  { kind: 'page', entry: 'src/web/browser/search.ts', output: 'web/search.js' },
  { kind: 'page', entry: 'src/web/browser/page.css', output: 'web/page.css' },
  { kind: 'library', entry: 'src/errors.ts', output: 'errors.js' },
  { kind: 'library', entry: 'src/index.ts', output: 'index.js' },
  { kind: 'library', entry: 'src/agent/contract-suite/index.ts', output: 'agent-contract.js' },
];

/**
 * Packages that take long to load. Each group is a file in `dist/vendor`, loaded when the code that asks for it runs, by
 * programs and libraries alike. Packages that extend each other's classes must be in one group: ajv-formats extends ajv's
 * code generator. A group names what the sources import of its packages.
 *
 * @type {Record<string, string[]>}
 */
export const vendorGroups = {
  acp: ['@agentclientprotocol/sdk/unstable'],
  ai: ['ai', '@ai-sdk/openai-compatible'],
  ajv: ['ajv/dist/2020.js', 'ajv-formats'],
  dagre: ['@dagrejs/dagre'],
  diff: ['diff'],
  hono: [
    '@hono/node-server',
    'hono',
    'hono/body-limit',
    'hono/cookie',
    'hono/html',
    'hono/jsx',
    'hono/jsx/jsx-runtime',
    'hono/streaming',
  ],
  'isomorphic-git': ['isomorphic-git'],
  jsonata: ['jsonata'],
  liquidjs: ['liquidjs'],
  'markdown-it': ['markdown-it'],
  mcp: [
    '@modelcontextprotocol/sdk/client/index.js',
    '@modelcontextprotocol/sdk/client/streamableHttp.js',
    '@modelcontextprotocol/sdk/server/index.js',
    '@modelcontextprotocol/sdk/shared/stdio.js',
    '@modelcontextprotocol/sdk/types.js',
  ],
  semver: ['semver/functions/satisfies.js', 'semver/functions/valid.js', 'semver/ranges/valid.js'],
  yaml: ['yaml'],
};

/** Files and folders (from the package's root) that a build reads. */
export const inputs = [
  'src',
  'scripts/build',
  'scripts/build.js',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
];
