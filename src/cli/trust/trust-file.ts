import { createHash, randomUUID } from 'node:crypto';
import {
  chmodSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { messageOf, UwfError } from '../../errors.ts';
import { realPath } from '../../git/repository/git-directory.ts';
import type { Repository } from '../../git/repository.ts';
import { arrayOf, isNumber, isString, objectOf, oneOf, recordOf, type Shape } from '../../shape.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';
import { stateFolder } from '../open/user-folders.ts';
import type { TrustClaim } from './claim.ts';
import { READ, whileOpen } from '../../git/system/files.ts';
import { orElse } from '../../or-else.ts';

/** A definition that a person has agreed to. */
export type Trusted = {
  /** What it was called: `agents.tests`. */
  name: string;
  definition: string;
  /** What it declared: the next question shows what has changed since. */
  lines: string[];
  /** The SHA-256 of all contents that were agreed to, by the words that name the files; the newest last. */
  files: Record<string, string[]>;
  agreedAtMs: number;
};

type TrustFile = { form: 'uwf trust 1'; repository: string; trusted: Trusted[] };

const isTrustFile: Shape<TrustFile> = objectOf<TrustFile>({
  form: oneOf(['uwf trust 1']),
  repository: isString,
  trusted: arrayOf(
    objectOf<Trusted>({
      name: isString,
      definition: isString,
      lines: arrayOf(isString),
      files: recordOf(arrayOf(isString)),
      agreedAtMs: isNumber,
    }),
  ),
});

/** A file of agreements is far smaller. A larger one is ignored. */
const MAX_BYTES = 16 * 1024 * 1024;
/** How many agreements are kept of one name, and of one file. An older one is asked for again. */
const MAX_KEPT = 50;

/** What this user has agreed to for one repository and all its work trees. */
export class TrustStore {
  readonly #repository: string;
  readonly #path: string;

  constructor({ env }: Pick<CliEnvironment, 'env'>, { location }: Pick<Repository, 'location'>) {
    this.#repository = location === undefined ? '' : realPath(location.commonDir);
    const name = createHash('sha256').update(this.#repository).digest('hex');
    this.#path = join(stateFolder(env), 'trust', name);
  }

  /** What was agreed to, the newest last. A file that another user can write is ignored. */
  read(): Trusted[] {
    if (!isOwn(statSync(dirname(this.#path), { throwIfNoEntry: false }))) return [];
    // There is none, or it is damaged: the person is asked again.
    return orElse(() => whileOpen(openSync(this.#path, READ | constants.O_NOFOLLOW), (file) => this.#read(file)), []);
  }

  #read(file: number): Trusted[] {
    const stat = fstatSync(file);
    if (!stat.isFile() || !isOwn(stat) || stat.size > MAX_BYTES) return [];
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return isTrustFile(value) && value.repository === this.#repository ? value.trusted : [];
  }

  /** @throws {UwfError} if it cannot be written */
  add(claims: readonly TrustClaim[], nowMs: number): void {
    const trusted = this.read();
    for (const { name, definition, lines, files } of claims) {
      const before = trusted.findIndex((one) => one.name === name && one.definition === definition);
      const known = before === -1 ? {} : (trusted.splice(before, 1)[0]?.files ?? {});
      const merged = new Map(Object.entries(known));
      for (const { word, sha256 } of files) {
        const others = (merged.get(word) ?? []).filter((hash) => hash !== sha256);
        merged.set(word, [...others, sha256].slice(-MAX_KEPT));
      }
      trusted.push({ name, definition, lines, files: Object.fromEntries(merged), agreedAtMs: nowMs });
      const ofName = trusted.filter((one) => one.name === name);
      for (const oldest of ofName.slice(0, -MAX_KEPT)) trusted.splice(trusted.indexOf(oldest), 1);
    }
    this.#write(trusted);
  }

  /** Takes back what was agreed to under a name, or all; @returns what that was. @throws {UwfError} if it cannot be written */
  remove(isMeant: (one: Trusted) => boolean): Trusted[] {
    const trusted = this.read();
    const removed = trusted.filter(isMeant);
    if (removed.length > 0) this.#write(trusted.filter((one) => !isMeant(one)));
    return removed;
  }

  #write(trusted: Trusted[]): void {
    const folder = dirname(this.#path);
    const temporary = `${this.#path}.${randomUUID()}.tmp`;
    const content: TrustFile = { form: 'uwf trust 1', repository: this.#repository, trusted };
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      if (!isOwn(statSync(folder))) chmodSync(folder, 0o700);
      writeFileSync(temporary, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600, flag: 'wx', flush: true });
      renameSync(temporary, this.#path);
    } catch (error) {
      rmSync(temporary, { force: true });
      throw new UwfError(`what you trust cannot be kept in ${this.#path}: ${messageOf(error)}`, {
        code: 'trust-not-kept',
        kind: 'environment',
        hint: 'make that folder writable, or name another one in XDG_STATE_HOME',
        cause: error,
      });
    }
  }
}

/** Tells whether something is this user's, and no other can write to it. */
function isOwn(stat: { uid: number; mode: number } | undefined): boolean {
  const me = process.geteuid?.();
  return stat !== undefined && (me === undefined || stat.uid === me) && (stat.mode & 0o022) === 0;
}

/** Returns the parts of a claim to which the person has not agreed: its definition, and which files. */
export function findNew(
  { name, definition, files }: TrustClaim,
  trusted: readonly Trusted[],
): { isNew: boolean; files: TrustClaim['files'] } {
  const same = trusted.findLast((one) => one.name === name && one.definition === definition);
  if (same === undefined) return { isNew: true, files };
  const known = new Map(Object.entries(same.files));
  return { isNew: false, files: files.filter(({ word, sha256 }) => !known.get(word)?.includes(sha256)) };
}
