import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { chain, config, createScene, type Scene } from './scene.ts';

/** Writes down each turn that it takes, and leaves a file. */
const agent = `#!/bin/sh
cat >/dev/null
echo "$UWF_THREAD $UWF_ROLE" >> "$PAID"
echo done > "$UWF_THREAD-$UWF_ROLE"
printf -- '---\\n$status: done\\n---\\n%s is done.\\n' "$UWF_ROLE"
`;

/** Six branches, of which two have three branches of their own. */
const outer = `name: outer
isolation: worktree
roles:
  planner: { schema: {} }
  closer: { schema: {} }
blocks:
  teams:
    isolation: worktree
    merge: { order: key }
    branches:
      a: { workflow: leaf }
      b: { workflow: inner }
      c: { role: closer }
      d: { workflow: inner }
      e: { workflow: leaf }
      f: { workflow: leaf }
    join: all
moderator:
  - { from: __start__, to: planner, when: null }
  - { from: planner, to: teams, when: null }
  - { from: teams, to: closer, when: null }
  - { from: closer, to: __end__, when: null }
`;

const inner = `name: inner
isolation: worktree
roles:
  planner: { schema: {} }
blocks:
  parts:
    isolation: worktree
    merge: { order: end }
    branches: { x: { workflow: leaf }, y: { role: planner }, z: { workflow: leaf } }
    join: all
moderator:
  - { from: __start__, to: parts, when: null }
  - { from: parts, to: __end__, when: null }
`;

export function createBlockScene(): Scene {
  const agents = { robot: { package: 'builtin:command', config: { argv: ['./agent'], graceMs: 300 } } };
  const scene = createScene({
    '.uwf/workflows/outer.yaml': outer,
    '.uwf/workflows/inner.yaml': inner,
    '.uwf/workflows/leaf.yaml': chain('leaf', ['first', 'second']),
    '.uwf/config.yaml': config([], { agents }),
    agent,
  });
  scene.git('add', '-A');
  scene.git('commit', '-qm', 'code');
  return scene;
}

/** The places of the scene's work trees, and of the list of turns. */
export function environmentOf(scene: Scene): Record<string, string> {
  return { XDG_STATE_HOME: scene.state, PAID: paidFile(scene) };
}

function paidFile(scene: Scene): string {
  return join(scene.dir, '.git', 'paid');
}

/** The turns that are stored, as the agent writes them down: `<thread> <role>`. */
export function storedTurns(scene: Scene): string[] {
  const refs = scene.git('for-each-ref', '--format=%(refname)', 'refs/threads', 'refs/history');
  return refs.split('\n').flatMap((ref) => {
    const thread = ref.split('/').at(-1) ?? '';
    const trailer = (key: string): string => `%(trailers:key=Uwf-${key},valueonly,separator=)`;
    const commits = scene
      .git('log', '--first-parent', `--format=${trailer('Type')} ${trailer('Role')}`, ref)
      .split('\n');
    // The commits before a child's start are its caller's.
    const own = commits.slice(0, commits.indexOf('thread-start '));
    return own.flatMap((line) => (line.startsWith('thread-step ') ? `${thread} ${line.slice(12)}` : []));
  });
}

export function paidTurns(scene: Scene): Map<string, number> {
  if (!existsSync(paidFile(scene))) return new Map();
  const paid = new Map<string, number>();
  for (const line of readFileSync(paidFile(scene), 'utf8').trim().split('\n')) {
    paid.set(line, (paid.get(line) ?? 0) + 1);
  }
  return paid;
}
