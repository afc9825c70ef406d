import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { startCuttingProxy, type CuttingProxy } from './cutting-proxy.ts';
import { freePort } from './free-port.ts';
import { createTemporaryFolder } from './temporary-repository.ts';

export type SshServer = {
  /** The URL of a folder on this machine. */
  urlOf(path: string): string;
  /** The environment for a git client: a key, and the server's key as the only known one. */
  env: Readonly<Record<string, string>>;
  proxy: CuttingProxy;
};

const program = ['/usr/sbin/sshd', '/usr/local/sbin/sshd', '/opt/homebrew/sbin/sshd'].find((path) => existsSync(path));

/** The reason why no server can start here, or `undefined`. */
export const noSshServer: string | undefined =
  program === undefined
    ? 'there is no sshd on this machine: install it (openssh-server of Debian), or set SUITE_WITHOUT_SSHD=1'
    : undefined;

/**
 * Starts an sshd of this user with its own port and keys. It reads no configuration of this machine and ends with the test.
 */
export async function startSshServer(): Promise<SshServer> {
  if (program === undefined) throw new Error(noSshServer);
  const folder = createTemporaryFolder();
  const at = (name: string): string => join(folder, name);
  for (const name of ['host', 'client']) {
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', at(name)]);
  }
  // As root, sshd needs this folder, which an init script usually makes.
  if (userInfo().uid === 0) mkdirSync('/run/sshd', { recursive: true, mode: 0o755 });
  const port = await freePort();
  const settings = {
    ListenAddress: '127.0.0.1',
    Port: String(port),
    HostKey: at('host'),
    AuthorizedKeysFile: at('client.pub'),
    PidFile: 'none',
    StrictModes: 'no',
    UsePAM: 'no',
    PasswordAuthentication: 'no',
    PermitRootLogin: 'prohibit-password',
    MaxStartups: '100',
    AcceptEnv: 'GIT_PROTOCOL',
    SetEnv: 'GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null',
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} ${value}\n`);
  writeFileSync(at('sshd_config'), lines.join(''));
  const server = spawn(program, ['-D', '-e', '-f', at('sshd_config')], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  server.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  onTestFinished(() => void server.kill());
  await waitUntilListening(port, () => (server.exitCode === null ? undefined : said));
  const proxy = await startCuttingProxy(port);
  const hostKey = readFileSync(at('host.pub'), 'utf8').split(' ').slice(0, 2).join(' ');
  writeFileSync(at('known_hosts'), `[127.0.0.1]:${proxy.port} ${hostKey}\n`);
  const options = {
    UserKnownHostsFile: at('known_hosts'),
    GlobalKnownHostsFile: '/dev/null',
    StrictHostKeyChecking: 'yes',
    IdentitiesOnly: 'yes',
    IdentityAgent: 'none',
    BatchMode: 'yes',
    // The default algorithm takes a tenth of a second more on both sides.
    KexAlgorithms: 'curve25519-sha256',
  };
  const words = Object.entries(options).map(([name, value]) => `-o ${name}=${value}`);
  return {
    urlOf: (path) => `ssh://${userInfo().username}@127.0.0.1:${proxy.port}${path}`,
    env: { GIT_SSH_COMMAND: `ssh -F /dev/null -i ${at('client')} ${words.join(' ')}`, GIT_SSH_VARIANT: 'ssh' },
    proxy,
  };
}

async function waitUntilListening(port: number, whyEnded: () => string | undefined): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    const said = whyEnded();
    if (said !== undefined) throw new Error(`sshd ended: ${said}`);
    const isThere = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
      socket.once('connect', () => socket.destroy());
    });
    if (isThere) return;
    await delay(25);
  }
  throw new Error('sshd does not listen');
}
