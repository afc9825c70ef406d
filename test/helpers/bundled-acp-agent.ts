import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { fixtureAgent } from './agent-request.ts';
import { makeFolder } from './temporary-repository.ts';

/** `fixtures/agents/acp-agent.mjs` and its SDK in one file, made once for a process: Node starts it in half the time. */
export const bundledAcpAgent: string = join(makeFolder(), 'acp-agent.mjs');

// At the import, because tests look for processes that agents leave.
buildSync({
  entryPoints: [fixtureAgent('acp-agent.mjs')],
  outfile: bundledAcpAgent,
  bundle: true,
  minify: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  logLevel: 'error',
});
