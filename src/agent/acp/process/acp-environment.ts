import { scrubbedEnvironment } from '../../processes/scrubbed-environment.ts';

/** How the network is reached from here. */
const NETWORK = [
  'HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy',
  'NODE_EXTRA_CA_CERTS SSL_CERT_FILE SSL_CERT_DIR',
].flatMap((names) => names.split(' '));

/**
 * The environment of a coding agent: what programs need, the way to the network, what was named, and what was given.
 * `GITHUB_TOKEN`, say, is not passed on unless the configuration names it.
 * @param names further variables to pass on
 * @param added goes over everything else
 */
export function acpEnvironment(
  env: Readonly<Record<string, string>>,
  names: readonly string[] = [],
  added: Readonly<Record<string, string>> = {},
): Record<string, string> {
  return { ...scrubbedEnvironment(env, [...NETWORK, ...names]), ...added };
}
