import { isAbsolute, resolve } from 'node:path';

import { looksSecret } from '../../scrubbed-environment.ts';
import { ToolRefused } from './tool.ts';
import type { WorkFolder } from './work-folder.ts';

/** Where programs and devices lie that any command may name. */
const SHARED = /^\/(?:bin|sbin|lib|lib64|usr|opt|nix|dev\/(?:null|zero|u?random|std(?:in|out|err)|fd))(?:\/|$)/u;

/** What a command is held against before it runs. */
export type CommandRules = {
  /** The beginnings that a command may have; absent: any. */
  allow: readonly string[] | undefined;
  /** The environment of uwf, and the part of it that the command sees. */
  env: Readonly<Record<string, string>>;
  passed: Readonly<Record<string, string>>;
};

/**
 * Refuses a command that plainly reaches out: one that names a path outside the working folder, or a variable that was
 * kept from it.
 *
 * A guard-rail and no sandbox: what a program does once it runs is not seen from here.
 * @throws {ToolRefused}
 */
export async function guardCommand(argv: readonly string[], folder: WorkFolder, rules: CommandRules): Promise<void> {
  assertAllowed(argv, rules.allow);
  const words = argv.flatMap(wordsOf);
  const kept = Object.keys(rules.env).filter((name) => !Object.hasOwn(rules.passed, name) && looksSecret(name));
  for (const word of words) {
    const name = kept.find((candidate) => word === candidate || word === `$${candidate}`);
    if (name !== undefined) throw new ToolRefused(`the variable ${name} is kept from commands`);
    if (isOutwardPath(word)) await assertInside(word, folder);
  }
}

function assertAllowed(argv: readonly string[], allow: readonly string[] | undefined): void {
  if (allow === undefined) return;
  const isAllowed = allow.some((beginning) => beginning.split(/\s+/u).every((word, index) => argv[index] === word));
  if (!isAllowed) {
    throw new ToolRefused(
      `'${argv.join(' ')}' is not allowed; give program and arguments as a list, beginning with: ${allow.join(', ')}`,
    );
  }
}

/** What a shell, or a program, would take for a word of its own: `--out=/etc/x`, `>../x` and `"$HOME"` have one each. */
function wordsOf(text: string): string[] {
  return text.split(/[\s'"`;|&<>(){}=,:]+/u).filter((word) => word !== '');
}

function isOutwardPath(word: string): boolean {
  return isAbsolute(word) || /^(?:~|\$HOME\b|\$\{?OLDPWD)/u.test(word) || word.split('/').includes('..');
}

async function assertInside(word: string, folder: WorkFolder): Promise<void> {
  const refusal = new ToolRefused(`'${word}' lies outside the working folder`);
  if (/^[~$]/u.test(word)) throw refusal;
  if (isAbsolute(word) && SHARED.test(resolve(word))) return;
  // A pattern of the shell is looked at as far as its first wildcard.
  const plain = word.replace(/[*?[].*$/u, '');
  if (folder.holds(resolve(folder.path, plain))) return;
  // It may still lead inside, by another name of the folder.
  await folder.find(plain).catch(() => {
    throw refusal;
  });
}
