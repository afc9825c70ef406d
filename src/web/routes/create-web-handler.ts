import { UwfError } from '../../errors.ts';
import type { Repository } from '../../git/repository.ts';
import type { WebOptions } from '../site.ts';

/**
 * Makes the page of a repository, as a function from requests to responses, for any server that speaks them.
 *
 * All addresses are at the root of the server, so the page needs a host or a port of its own. It runs no agent and reads no
 * configuration; what visitors may do is handed in. What makes the pages is loaded with the first request.
 * @throws {UwfError} `weak-secret` if `secret` is empty, or `key` is shorter than 32 bytes
 */
export function createWebHandler(repository: Repository, options: WebOptions): (request: Request) => Promise<Response> {
  assertSecret(options);
  const load = loadOnce(async () => (await import('./create-app.ts')).createApp(repository, options));
  return async (request) => (await load()).fetch(request);
}

/** The secret and the key let in everyone who has them. A program whose setting is missing would hand in ''. */
function assertSecret({ secret, key }: WebOptions): void {
  const isEmpty = 'password' in secret ? secret.password === '' : secret.token === '' || secret.once === '';
  if (!isEmpty && (key === undefined || key.length >= 32)) return;
  throw new UwfError(isEmpty ? "the page's secret is empty" : "the page's key is shorter than 32 bytes", {
    code: 'weak-secret',
    kind: 'usage',
    hint: `give ${isEmpty ? 'a token or a password that cannot be guessed' : '32 random bytes'}`,
  });
}

/** Loads something once, at the first call. After a failure, such as too many open files, the next call tries again. */
export function loadOnce<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined;
  const forget = (error: unknown): never => {
    loading = undefined;
    throw error;
  };
  return () => (loading ??= load().catch(forget));
}
