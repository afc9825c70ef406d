import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

import { createTemporaryFolder, isolatedGitEnvironment, runGit } from '../helpers/temporary-repository.ts';
import type { CommandLine, Handles } from './every-command.ts';

const program = join(import.meta.dirname, '../../bin/uwf.js');
/** Stands in files that no command may show, store or send. */
export const OUTSIDE = 'OUTSIDE-THE-REPOSITORY';

/** A clone of an attacker's making, with a folder in which a program that runs leaves a file. */
export type HostileClone = {
  dir: string;
  /** Programs write here: what is in it has run. */
  canary: string;
  /** Holds files that the clone points to and must not reach, each with {@link OUTSIDE}. */
  outside: string;
  handles: Handles;
};

const workflow = `name: hostile
description: "\\u001b]0;title\\u0007 \\u202etxt.exe"
roles:
  worker: { description: w, systemPrompt: w, schema: { type: object } }
  packaged: { description: p, systemPrompt: p, schema: { type: object } }
moderator:
  - { from: __start__, to: worker }
  - { from: worker, to: packaged }
  - { from: packaged, to: __end__ }
`;

const harmless = `agents:
  worker: { package: "builtin:command", config: { argv: [sh, -c, "echo made > made.txt; printf -- '---\\\\nok: true\\\\n---\\\\nThe \\\\033[31mwork\\\\n'"] } }
  packaged: { package: "builtin:command", config: { argv: [sh, -c, "printf -- '---\\\\nok: true\\\\n---\\\\ndone\\\\n'"] } }
roles: { worker: worker, packaged: packaged }
snapshot: { mode: "on" }
`;

function uwf(dir: string, ...args: string[]): string {
  const env = { ...isolatedGitEnvironment, HOME: dirname(dir), UWF_TRUST: 'all' };
  return execFileSync(process.execPath, [program, '-C', dir, ...args], { env, encoding: 'utf8', stdio: 'pipe' }).trim();
}

/** Makes a repository with an ended thread, one that waits, and snapshots; nothing of it is hostile yet. */
export function buildClone(): HostileClone {
  const top = createTemporaryFolder();
  chmodSync(top, 0o755);
  const [dir, canary, outside, elsewhere] = ['clone', 'canary', 'outside', 'elsewhere'].map((name) => join(top, name));
  if (dir === undefined || canary === undefined || outside === undefined || elsewhere === undefined) throw new Error();
  for (const folder of [dir, canary, outside, elsewhere]) mkdirSync(folder);
  writeFileSync(join(outside, 'secret'), `${OUTSIDE}\n`);
  runGit(dir, ['init', '-q', '-b', 'main']);
  write(dir, 'readme', 'hello\n');
  write(dir, '.uwf/config.yaml', harmless);
  write(dir, '.uwf/workflows/hostile.yaml', workflow);
  runGit(dir, ['add', '-A']);
  runGit(dir, ['commit', '-qm', 'first']);
  const ended = uwf(dir, 'thread', 'start', 'hostile', '-p', 'go');
  uwf(dir, 'thread', 'run', ended);
  const waiting = uwf(dir, 'thread', 'start', 'hostile', '-p', 'go');
  const steps: { step: string }[] = JSON.parse(uwf(dir, 'step', 'list', ended, '--json'));
  const step = steps[0]?.step ?? '';
  const text = uwf(dir, 'cas', 'put', 'a text', '--thread', waiting);
  return { dir, canary, outside, handles: { ended, waiting, step, text, elsewhere } };
}

/** The same clone at another place. */
export function copyClone({ dir, handles }: HostileClone): HostileClone {
  const top = createTemporaryFolder();
  cpSync(dirname(dir), top, { recursive: true, verbatimSymlinks: true });
  chmodSync(top, 0o755);
  const canary = join(top, 'canary');
  chmodSync(canary, 0o777);
  const elsewhere = join(top, 'elsewhere');
  return { dir: join(top, 'clone'), canary, outside: join(top, 'outside'), handles: { ...handles, elsewhere } };
}

function write(dir: string, path: string, text: string, mode?: number): void {
  mkdirSync(dirname(join(dir, path)), { recursive: true });
  rmSync(join(dir, path), { force: true });
  writeFileSync(join(dir, path), text);
  if (mode !== undefined) chmodSync(join(dir, path), mode);
}

function link(target: string, dir: string, path: string): void {
  mkdirSync(dirname(join(dir, path)), { recursive: true });
  rmSync(join(dir, path), { force: true, recursive: true });
  symlinkSync(target, join(dir, path));
}

/** A configuration whose agents, servers and packages each leave a file where they run. */
function hostileConfig(canary: string): string {
  return `agents:
  worker: { package: "builtin:command", config: { argv: [sh, -c, "touch ${canary}/agent; echo x"] } }
  packaged: { package: uwf-agent-hostile, config: {} }
  acp: { package: "builtin:acp", config: { argv: [sh, -c, "touch ${canary}/acp"] } }
  relative: { package: ./agents/relative.js, config: {} }
  model: { package: "builtin:llm", config: { baseUrl: "http://127.0.0.1:9/v1", model: m, mcpServers: { s: { command: [sh, -c, "touch ${canary}/mcp"] } } } }
roles: { worker: worker, packaged: packaged }
defaultAgent: worker
context: { compactor: worker }
snapshot: { mode: "on" }
`;
}

function plantPackage(dir: string, canary: string): void {
  const run = `require('node:fs').writeFileSync(${JSON.stringify(`${canary}/package`)}, 'x');`;
  write(
    dir,
    'node_modules/uwf-agent-hostile/package.json',
    '{"name":"uwf-agent-hostile","version":"1.0.0","main":"index.js"}',
  );
  write(dir, 'node_modules/uwf-agent-hostile/index.js', run);
  write(dir, 'agents/relative.js', run);
}

/** Configuration of git that names programs wherever git lets it. */
function plantGitConfig(dir: string, canary: string): void {
  const runs = (name: string): string => `sh -c 'touch ${canary}/${name}; cat' #`;
  const script = `#!/bin/sh\ntouch ${canary}/hook-$(basename "$0")\n`;
  const hooks = [
    'pre-push',
    'reference-transaction',
    'post-checkout',
    'post-index-change',
    'pre-auto-gc',
    'fsmonitor',
    'post-commit',
    'pre-commit',
  ];
  for (const hook of hooks) write(join(dir, '.git'), `hooks/${hook}`, script, 0o755);
  const config = (...args: string[]): string => runGit(dir, ['config', ...args]);
  config('core.fsmonitor', `${dir}/.git/hooks/fsmonitor`);
  for (const key of [
    'core.pager',
    'core.editor',
    'core.askPass',
    'core.sshCommand',
    'core.gitProxy',
    'core.alternateRefsCommand',
  ])
    config(key, runs(key));
  for (const key of [
    'diff.external',
    'diff.all.textconv',
    'diff.all.command',
    'filter.all.clean',
    'filter.all.smudge',
    'filter.all.process',
  ])
    config(key, runs(key));
  config('gpg.program', runs('gpg'));
  config('credential.helper', `!touch ${canary}/credential; cat`);
  config('pager.log', runs('pager'));
  config('uploadpack.packObjectsHook', runs('packObjectsHook'));
  config('trace2.eventTarget', '0');
  config('protocol.ext.allow', 'always');
  config('http.extraHeader', `Authorization: ${OUTSIDE}`);
  write(join(dir, '.git'), 'info/attributes', '* filter=all diff=all\n');
  write(dir, '.gitattributes', '* filter=all diff=all\n');
}

function addRemote(dir: string, url: string, canary: string): void {
  runGit(dir, ['config', 'remote.origin.url', url]);
  runGit(dir, ['config', 'remote.origin.fetch', '+refs/heads/*:refs/remotes/origin/*']);
  runGit(dir, ['config', 'remote.origin.uploadpack', `touch ${canary}/uploadpack; git-upload-pack`]);
  runGit(dir, ['config', 'remote.origin.receivepack', `touch ${canary}/receivepack; git-receive-pack`]);
  runGit(dir, ['config', 'remote.origin.promisor', 'true']);
  runGit(dir, ['config', 'remote.origin.partialclonefilter', 'blob:none']);
  runGit(dir, ['config', 'extensions.partialClone', 'origin']);
  runGit(dir, ['config', 'core.repositoryFormatVersion', '1']);
}

/** Every way into a clone. */
export const ways: Record<string, (clone: HostileClone) => void> = {
  'a configuration that names programs': ({ dir, canary }) => write(dir, '.uwf/config.yaml', hostileConfig(canary)),
  'packages in node_modules': ({ dir, canary }) => {
    write(dir, '.uwf/config.yaml', hostileConfig(canary));
    plantPackage(dir, canary);
    uwfFolder(dir, canary);
  },
  'a configuration that is a link out': ({ dir, outside }) => link(join(outside, 'secret'), dir, '.uwf/config.yaml'),
  'a configuration that never ends': ({ dir }) => link('/dev/zero', dir, '.uwf/config.yaml'),
  'a configuration that is a pipe': ({ dir }) => {
    rmSync(join(dir, '.uwf/config.yaml'));
    execFileSync('mkfifo', [join(dir, '.uwf/config.yaml')]);
  },
  'workflows that are links out': ({ dir, outside }) => {
    link(join(outside, 'secret'), dir, '.uwf/workflows/hostile.yaml');
    link('/dev/zero', dir, '.uwf/workflows/zero.yaml');
    link(outside, dir, '.uwf/workflows/folder');
  },
  'includes that lead out': ({ dir, outside, canary }) => {
    write(dir, '.git/credentials', OUTSIDE);
    const included = workflow
      .replace('systemPrompt: w', 'systemPrompt: !include ../../.git/credentials')
      .replace('systemPrompt: p', `systemPrompt: !include ../../../outside/secret`);
    write(dir, '.uwf/workflows/hostile.yaml', included);
    link(join(outside, 'secret'), dir, '.uwf/workflows/linked.md');
    write(dir, '.uwf/workflows/other.yaml', workflow.replace('systemPrompt: w', 'systemPrompt: !include linked.md'));
    write(dir, '.uwf/config.yaml', hostileConfig(canary));
  },
  'a .uwf that is a link out': ({ dir, outside }) => {
    write(outside, 'config.yaml', `${OUTSIDE}: [`);
    link(outside, dir, '.uwf');
  },
  "git's configuration, hooks and attributes": ({ dir, canary }) => {
    plantGitConfig(dir, canary);
    write(dir, 'readme', 'changed\n');
  },
  'a remote that is a program': ({ dir, canary }) => {
    plantGitConfig(dir, canary);
    addRemote(dir, `ext::sh -c "touch% ${canary}/ext"`, canary);
    loseObjects(dir);
  },
  'a remote of this machine with a program in front': ({ dir, canary, outside }) => {
    runGit(outside, ['init', '-q', '--bare', 'remote.git']);
    addRemote(dir, join(outside, 'remote.git'), canary);
    loseObjects(dir);
  },
  'a planted folder of uwf': ({ dir, canary, outside }) => {
    uwfFolder(dir, canary);
    const planted = join(dir, '.git/uwf');
    link(join(outside, 'secret'), planted, 'folding.json');
    for (const folder of ['lookup', 'sessions', 'pending', 'journal', 'corrupt', 'removed'])
      if (!existsSync(join(planted, folder))) link(outside, planted, folder);
    write(planted, 'leases/planted.json', '{"pgid":1}');
  },
  'a submodule with programs': ({ dir, canary }) => {
    mkdirSync(join(dir, 'sub'));
    runGit(join(dir, 'sub'), ['init', '-q']);
    write(join(dir, 'sub'), 'file', 'x');
    runGit(join(dir, 'sub'), ['add', '-A']);
    runGit(join(dir, 'sub'), ['commit', '-qm', 'sub']);
    runGit(dir, ['-c', 'advice.addEmbeddedRepo=false', 'add', 'sub']);
    plantGitConfig(join(dir, 'sub'), canary);
    write(join(dir, 'sub'), 'file', 'changed');
  },
  'a bare repository in the work tree': ({ dir, canary }) => {
    runGit(dir, ['init', '-q', '--bare', 'docs/bare']);
    runGit(join(dir, 'docs/bare'), ['config', 'core.fsmonitor', `touch ${canary}/bare`]);
    write(join(dir, 'docs/bare'), 'uwf/config.yaml', hostileConfig(canary));
  },
  'a snapshot that holds a configuration': ({ dir, canary }) => {
    write(dir, '.uwf/config.yaml', hostileConfig(canary));
    plantPackage(dir, canary);
    runGit(dir, ['add', '-A', '-f']);
    runGit(dir, ['commit', '-qm', 'a configuration']);
  },
  'texts that write to the terminal': ({ dir }) => {
    const esc = '"\\u001b[2J\\u009b31m \\u202egnp.exe \\u2066x \\u200f"';
    const loud = workflow
      .replace('systemPrompt: w', `systemPrompt: ${esc}`)
      .replace('description: w', `description: ${esc}`);
    write(dir, '.uwf/workflows/hostile.yaml', loud);
    write(dir, '.uwf/workflows/\u202eevil.yaml', loud);
  },
  'a workflow without end': ({ dir }) => {
    const rules = Array.from(
      { length: 2000 },
      () => `  - { from: worker, to: worker, when: "$sum([1..9999999])" }`,
    ).join('\n');
    write(dir, '.uwf/workflows/hostile.yaml', workflow.replace('moderator:\n', `moderator:\n${rules}\n`));
    write(dir, '.uwf/workflows/huge.yaml', `name: huge\ndescription: "${'x'.repeat(40_000_000)}"\n`);
    // Each list holds the one before nine times.
    const names = Array.from({ length: 10 }, (_, at) => `l${at}`);
    const bomb = names.map(
      (name, at) =>
        `${name}: &${name} [${Array(9)
          .fill(at === 0 ? 'x' : `*l${at - 1}`)
          .join(',')}]`,
    );
    write(dir, '.uwf/workflows/bomb.yaml', `${bomb.join('\n')}\n`);
  },
};

/** The configuration of this machine, in a git folder that came from elsewhere. */
function uwfFolder(dir: string, canary: string): void {
  write(join(dir, '.git/uwf'), 'config.yaml', hostileConfig(canary));
}

/** Takes a blob away that a reader would ask the remote for. */
function loseObjects(dir: string): void {
  const lost = runGit(dir, ['rev-parse', 'HEAD:readme']);
  rmSync(join(dir, '.git/objects', lost.slice(0, 2), lost.slice(2)), { force: true });
}

/** How a command ended; `maxMiB` is the most memory that its own process held. */
export type Ran = { code: number | null; output: string; maxMiB: number; ms: number };

/** Runs a command as a user, without a word of trust and without a terminal. */
export async function runAs(
  uid: number,
  { dir, canary }: HostileClone,
  { args, input = '' }: CommandLine,
): Promise<Ran> {
  const home = join(dirname(dir), `home-${uid}`);
  if (!existsSync(home)) {
    mkdirSync(home);
    execFileSync('chown', [String(uid), home]);
  }
  const usage = join(home, 'usage');
  rmSync(usage, { force: true });
  const probe = join(dirname(canary), 'probe.cjs');
  if (!existsSync(probe)) {
    const first = `if (process.argv[1] === ${JSON.stringify(program)})`;
    writeFileSync(
      probe,
      `${first} process.on('exit', () => require('node:fs').writeFileSync(process.env.USAGE, String(process.resourceUsage().maxRSS)));\n`,
    );
    chmodSync(probe, 0o644);
  }
  const env: Record<string, string> = {
    ...isolatedGitEnvironment,
    HOME: home,
    USAGE: usage,
    NODE_OPTIONS: `--require=${probe}`,
  };
  delete env['UWF_TRUST'];
  const startedMs = performance.now();
  const child = spawn(process.execPath, [program, ...args], {
    cwd: dir,
    env,
    uid,
    gid: uid,
    stdio: 'pipe',
    detached: true,
  });
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk));
  const timer = setTimeout(() => {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  }, 60_000);
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  clearTimeout(timer);
  const maxMiB = existsSync(usage) ? Number(readFileSync(usage, 'utf8')) / 1024 : 0;
  return { code, output: Buffer.concat(chunks).toString(), maxMiB, ms: performance.now() - startedMs };
}

/** Which programs of the clone have run. */
export function whatRan({ canary }: HostileClone): string[] {
  return readdirSync(canary).toSorted();
}

/** Gives the clone to a user. */
export function giveTo(uid: number, { dir }: HostileClone): void {
  execFileSync('chown', ['-hR', `${uid}:${uid}`, dir, join(dirname(dir), 'elsewhere')]);
}

/** Whether a text of outside was stored in any object. */
export function whatLeaked({ dir }: HostileClone): string[] {
  const objects = runGit(dir, [
    '-c',
    'safe.directory=*',
    'cat-file',
    '--batch-all-objects',
    '--batch',
    '--buffer',
    '--unordered',
  ]);
  return objects.includes(OUTSIDE) ? ['an object holds what lies outside'] : [];
}
