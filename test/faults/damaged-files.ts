import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { createLoopRepository, type CliRepository } from '../helpers/cli.ts';

/** A repository in which every kind of derived file lies, and what commands say of it. */
export type DamageScene = {
  /** The common dir's `uwf`. */
  folder: string;
  /** The derived files, below `<common dir>/uwf`. */
  files: readonly string[];
  /** Gives a file other bytes, or makes a folder of it. */
  damage(file: string, how: (sound: Buffer) => Buffer | 'folder'): void;
  /** What is wrong about what the commands say now; empty if all is as without damage. */
  differences(commands?: readonly string[]): Promise<string[]>;
  /** Puts all derived files back. */
  mend(): void;
};

/** Those that believe derived files. */
export const reading: readonly string[] = [
  'thread list --all',
  'thread show $ended',
  'thread show $idle',
  'thread show $corrupt',
  'log $ended',
  'log $idle -n 2',
  'step list $ended',
  'step show 3 --thread $ended',
  'thread rm --ended --before 2100-01-01 -n',
  'thread context $idle',
  'cas get $hash',
  'cas get $prefix',
  'cas list --thread $ended',
];
const proving = ['fsck', 'doctor'];

export const allCommands: readonly string[] = [...reading, ...proving];

/** Only the words about what was found corrupt may differ, since no head has them. */
const verdict = /"reason":"[^"]*"/;

export async function createDamageScene(): Promise<DamageScene> {
  const repository = createLoopRepository();
  const names = await fill(repository);
  const folder = join(repository.dir, '.git', 'uwf');
  const saved = `${folder}.saved`;
  const say = (command: string): Promise<string> => answer(repository, command, names);
  // Twice: what the first time works out, the second time believes.
  for (let round = 0; round < 2; round += 1) for (const command of allCommands) await say(command);
  cpSync(folder, saved, { recursive: true });
  const expected = new Map<string, string>();
  for (const command of allCommands) expected.set(command, await say(command));
  return {
    folder,
    files: filesBelow(saved).filter((file) => !file.startsWith('log')),
    damage(file, how) {
      const path = join(folder, file);
      const damaged = how(readFileSync(path));
      rmSync(path);
      if (damaged === 'folder') mkdirSync(join(path, 'deep'), { recursive: true });
      else writeFileSync(path, damaged);
    },
    async differences(commands = reading) {
      const wrong: string[] = [];
      for (const command of commands) {
        const said = await say(command);
        if (said !== expected.get(command)) wrong.push(`${command}: ${said}\ninstead of ${expected.get(command)}`);
      }
      return wrong;
    },
    mend() {
      rmSync(folder, { recursive: true, force: true });
      cpSync(saved, folder, { recursive: true });
    },
  };
}

type Names = Record<'ended' | 'idle' | 'corrupt' | 'hash' | 'prefix', string>;

async function fill(repository: CliRepository): Promise<Names> {
  const { uwf, json, git } = repository;
  const start = async (prompt: string): Promise<string> => {
    // `--json` prints the thread.
    const { thread } = (await json(['thread', 'start', 'loop', '-p', prompt])) as { thread: string };
    return thread;
  };
  const [ended, idle, corrupt, removed] = [
    await start('Write.'),
    await start('Wait.'),
    await start('Break.'),
    await start('Go.'),
  ];
  await uwf(['thread', 'run', ended]);
  await uwf(['thread', 'step', idle]);
  await uwf(['thread', 'rm', '--force', removed]);
  await uwf(['thread', 'step', corrupt]);
  // A sound head on a message that does not say what it is.
  const ref = `refs/threads/${corrupt}`;
  const tree = git('rev-parse', `${ref}^{tree}`).trim();
  const parent = git('rev-parse', `${ref}^`).trim();
  const other = git('commit-tree', tree, '-p', parent, '-m', 'another message').trim();
  git('update-ref', ref, other);
  const [step] = (await json(['step', 'list', ended])) as { step: string }[];
  const state = join(repository.dir, '.git', 'uwf');
  const { writeSession } = await import('../../src/engine/turn/step-folder.ts');
  const { derivedContent } = await import('../../src/git/system/files.ts');
  writeSession(
    await repository.open(),
    { threadId: idle, role: 'checker', agent: 'script' },
    { id: 'one', seen: other },
  );
  const folding = join(state, 'folding.json');
  writeFileSync(folding, derivedContent(folding, 'folding 1', '{"holder":"","atMs":0,"left":3}\n'));
  const hash = step?.step ?? '';
  return { ended, idle, corrupt, hash, prefix: hash.slice(0, 6) };
}

async function answer(repository: CliRepository, command: string, names: Names): Promise<string> {
  // The names are keys of the record.
  const words = command.replaceAll(/\$([a-z]+)/g, (_, name) => names[name as keyof Names]).split(' ');
  const { code, stdout } = await repository.uwf([...words, '--json']);
  return `${code} ${command.includes('$corrupt') ? stdout.replace(verdict, '') : stdout}`;
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .filter((file) => statSync(join(folder, file)).size > 0)
    .toSorted();
}

/** Changes one bit, the `number`-th of a fixed row of places that look like chance. */
export function flip(number: number): (sound: Buffer) => Buffer {
  return (sound) => {
    const damaged = Buffer.from(sound);
    const bit = Math.floor(((number * 0.6180339887498949) % 1) * sound.length * 8);
    damaged[bit >> 3] = (damaged[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    return damaged;
  };
}
