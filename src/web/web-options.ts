import type { GitEnvironment } from '../git/repository.ts';
import type { Redactor } from '../redaction/redactor.ts';
import type { WebActions } from './site.ts';

/**
 * What a visitor shows to be logged in. `once` is a token that is good for one visitor: it may be seen by others, as the
 * arguments of a program are.
 */
export type LoginSecret = { token: string; once?: string | undefined } | { password: string };

/** What the page of a repository needs beside it. */
export type WebOptions = {
  /** What visitors show to be logged in. A token can also be in the fragment of an address: `/#token=<token>`. */
  secret: LoginSecret;
  /**
   * Seals the sessions of browsers: 32 random bytes, which stay the same for as long as browsers are to be logged in.
   * Default: random, so that each handler has sessions of its own.
   */
  key?: Uint8Array | undefined;
  /** The name of the cookie. Cookies ignore ports, so it names the repository and the port. Default: `uwf` */
  cookie?: string | undefined;
  /** Names that the server is reached by, besides those of loopback; lower case, without a port. */
  hosts?: readonly string[] | undefined;
  /** The environment that git runs in; default: empty. */
  env?: GitEnvironment | undefined;
  /** What visitors may do; the page only shows where it is absent. */
  actions?: WebActions | undefined;
  /** Knows what is secret: pages mark what a push would refuse. Default: tokens of well-known providers. */
  redactor?: Redactor | undefined;
  /** Ends the streams of all browsers when it is aborted, so that a server can close. */
  signal?: AbortSignal | undefined;
};
