import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const ADVERTISED = { 'git-upload-pack': 'version=2', 'git-receive-pack': '' };
const sshd = '/usr/sbin/sshd';

/**
 * A host of git as a process of its own.
 *
 * @typedef {object} Host
 * @property {string} url
 * @property {(service: string, body: string | Uint8Array) => Promise<Exchange>} exchange one request of a client, from its
 *   connection to the end of the answer
 * @property {() => number} cpuMs what git, and for ssh the server, have taken so far
 * @property {() => void} stop
 *
 * @typedef {{ answer: import('node:buffer').Buffer, bytesUp: number, bytesDown: number }} Exchange
 */

/** Serves a folder by git's http-backend. @returns {Promise<Host>} */
export async function startHttpHost(root, name) {
  const server = spawn(process.execPath, [join(import.meta.dirname, 'serve-http.js'), root], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(server.stdout.setEncoding('utf8'), 'data');
  const url = `${String(line).trim()}${name}`;
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const call = (method, path, headers, body) =>
    new Promise((resolve, reject) => {
      const sent = request(`${url}${path}`, { method, headers, agent }, (answer) => {
        const chunks = [];
        answer.on('data', (chunk) => chunks.push(chunk)).on('error', reject);
        answer.on('end', () => resolve(Buffer.concat(chunks)));
      });
      sent.on('error', reject).end(body);
    });
  return {
    url,
    async exchange(service, body) {
      const protocol = { 'Git-Protocol': ADVERTISED[service] };
      const greeting = await call('GET', `/info/refs?service=${service}`, protocol);
      const headers = { ...protocol, 'Content-Type': `application/x-${service}-request` };
      const answer = await call('POST', `/${service}`, headers, body);
      return { answer, bytesUp: body.length, bytesDown: greeting.length + answer.length };
    },
    // What the server itself takes is not git's: another one would stand here.
    cpuMs: () => cpuOf(server.pid).children,
    stop: () => {
      agent.destroy();
      server.kill();
    },
  };
}

/** Serves a repository by sshd; each exchange is a connection. @returns {Promise<Host>} */
export async function startSshHost(root, name) {
  const folder = mkdtempSync(join(root, 'ssh-'));
  const at = (file) => join(folder, file);
  for (const key of ['host', 'client']) execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', at(key)]);
  if (userInfo().uid === 0) mkdirSync('/run/sshd', { recursive: true, mode: 0o755 });
  const port = 20_000 + (process.pid % 20_000);
  const settings = `ListenAddress 127.0.0.1\nPort ${port}\nHostKey ${at('host')}\nAuthorizedKeysFile ${at('client.pub')}
PidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nMaxStartups 200\nAcceptEnv GIT_PROTOCOL
PermitRootLogin prohibit-password\n`;
  writeFileSync(at('sshd_config'), settings);
  const server = spawn(sshd, ['-D', '-e', '-f', at('sshd_config')], { stdio: 'ignore' });
  const isThere = () =>
    new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true)).once('error', () => resolve(false));
      socket.once('connect', () => socket.destroy());
    });
  while (!(await isThere())) await sleep(25);
  writeFileSync(
    at('known_hosts'),
    `[127.0.0.1]:${port} ${readFileSync(at('host.pub'), 'utf8').split(' ', 2).join(' ')}\n`,
  );
  const options = [
    `UserKnownHostsFile=${at('known_hosts')}`,
    'IdentitiesOnly=yes',
    'BatchMode=yes',
    'SendEnv=GIT_PROTOCOL',
  ];
  const words = ['-F', '/dev/null', '-i', at('client'), '-p', String(port), ...options.flatMap((one) => ['-o', one])];
  return {
    url: `ssh://${userInfo().username}@127.0.0.1:${port}${join(root, name)}`,
    async exchange(service, body) {
      const args = [...words, `${userInfo().username}@127.0.0.1`, `${service} '${join(root, name)}'`];
      const env = { ...process.env, GIT_PROTOCOL: ADVERTISED[service] };
      const client = spawn('ssh', args, { env, stdio: ['pipe', 'pipe', 'ignore'] });
      const chunks = [];
      client.stdin.on('error', () => {});
      client.stdout.on('data', (chunk) => {
        chunks.push(chunk);
        // The greeting ends with this packet; then it is the client's turn.
        if (client.stdin.writable && chunk.subarray(-4).toString() === '0000') {
          client.stdin.write(body);
          // A client of protocol 2 says with the same packet that it asks no more.
          client.stdin.end(service === 'git-upload-pack' ? '0000' : '');
        }
      });
      await once(client, 'close');
      const answer = Buffer.concat(chunks);
      return { answer, bytesUp: body.length, bytesDown: answer.length };
    },
    cpuMs: () => cpuOf(server.pid).children,
    stop: () => void server.kill(),
  };
}

/** The CPU time of a process, and of those that it has started and that have ended; ms. Source: proc(5). */
export function cpuOf(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ms = (at) => (Number(fields[at]) + Number(fields[at + 1])) * 10;
  return { own: ms(11), children: ms(13) };
}
