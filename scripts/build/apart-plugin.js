/** An esbuild plugin that leaves `src/agent/import-module.ts` out of programs and takes it from a file of its own. */
export const apartPlugin = {
  name: 'apart',
  setup(build) {
    build.onResolve({ filter: /\/import-module\.ts$/ }, (request) =>
      request.kind === 'entry-point' ? undefined : { path: './import-module.cjs', external: true },
    );
  },
};
