import type { ObjectId, ObjectType } from '../object-id.ts';
import { LongLivedGit, type AnswerReader } from './long-lived-git.ts';
import { GitFailed } from './run-git.ts';
import type { GitStart } from './spawn-git.ts';

/** What an object is, before it is read. */
export type ObjectInfo = { type: ObjectType; size: number };

/** The processes that are asked, and how a question to each is put. */
type Line = { git: LongLivedGit; command: string };
type Lines = { info: Line; contents: Line };

const header = /^[0-9a-f]+ (blob|tree|commit|tag) ([0-9]+)$/;

/**
 * Objects as `git cat-file` gives them: one process for any number of them.
 *
 * Before 2.36 git could not be asked for both sizes and contents; there it is two processes.
 * Source: git-cat-file(1), `--batch-command`, "BATCH OUTPUT".
 */
export class CatFile {
  readonly #start: Omit<GitStart, 'args'>;
  #lines: Lines;

  constructor(start: Omit<GitStart, 'args'>) {
    this.#start = start;
    const git = this.#open('--batch-command');
    this.#lines = { info: { git, command: 'info ' }, contents: { git, command: 'contents ' } };
  }

  /** Type and size of an object; `undefined` if git does not find it, or cannot read it. */
  info(id: ObjectId): Promise<ObjectInfo | undefined> {
    return this.#ask('info', id, readInfo);
  }

  /** An object; `undefined` if git does not find it, or cannot read it. */
  contents(id: ObjectId): Promise<{ type: ObjectType; data: Buffer } | undefined> {
    return this.#ask('contents', id, readContents);
  }

  /** What git has said on stderr, in answer to what was asked until now. */
  async said(): Promise<string> {
    return (await Promise.all(this.#processes().map((git) => git.said()))).join('');
  }

  async close(): Promise<void> {
    await Promise.all(this.#processes().map((git) => git.close()));
  }

  async #ask<Answer>(kind: keyof Lines, id: ObjectId, read: () => AnswerReader<Answer>): Promise<Answer> {
    try {
      return await this.#askOnce(kind, id, read);
    } catch (error) {
      if (!(error instanceof GitFailed) || !error.said.includes('unknown option')) throw error;
      this.#lines = {
        info: { git: this.#open('--batch-check'), command: '' },
        contents: { git: this.#open('--batch'), command: '' },
      };
      return this.#askOnce(kind, id, read);
    }
  }

  #askOnce<Answer>(kind: keyof Lines, id: ObjectId, read: () => AnswerReader<Answer>): Promise<Answer> {
    const { git, command } = this.#lines[kind];
    return git.ask(`${command}${id}\n`, read);
  }

  #open(mode: string): LongLivedGit {
    return new LongLivedGit({ ...this.#start, args: ['--no-replace-objects', 'cat-file', mode] });
  }

  #processes(): LongLivedGit[] {
    return [...new Set([this.#lines.info.git, this.#lines.contents.git])];
  }
}

function* readInfo(): AnswerReader<ObjectInfo | undefined> {
  const match = header.exec((yield 'line').toString('latin1'));
  // The pattern lets no other types pass. What is no header says that the object is missing.
  return match === null ? undefined : { type: match[1] as ObjectType, size: Number(match[2]) };
}

function* readContents(): AnswerReader<{ type: ObjectType; data: Buffer } | undefined> {
  const info = yield* readInfo();
  if (info === undefined) return undefined;
  const data = yield info.size;
  // A line end follows.
  yield 1;
  return { type: info.type, data };
}
