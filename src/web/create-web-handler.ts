import type { Repository } from '../git/repository.ts';
import type { WebApp } from './routes/web-app.ts';
import type { WebOptions } from './web-options.ts';

/**
 * Makes the page of a repository, as a function from requests to responses, for any server that speaks them.
 *
 * All addresses are at the root of the server, so the page needs a host or a port of its own. It runs no agent and reads no
 * configuration; what visitors may do is handed in. What makes the pages is loaded with the first request.
 */
export function createWebHandler(repository: Repository, options: WebOptions): (request: Request) => Promise<Response> {
  let loading: Promise<WebApp> | undefined;
  const load = async (): Promise<WebApp> => (await import('./routes/create-app.ts')).createApp(repository, options);
  return async (request) => (await (loading ??= load())).fetch(request);
}
