// Serves the bare repositories of a folder over HTTP, and prints the URL.
import { loadSource } from '../lib/load-source.js';

const { startGitHttpServer } = await loadSource('test/helpers/git-http-server.ts');
const server = await startGitHttpServer(process.argv[2]);
process.stdout.write(`${server.urlOf('')}\n`);
