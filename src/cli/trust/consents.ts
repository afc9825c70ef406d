import { createHash, randomUUID } from 'node:crypto';
import { chmodSync, constants, lstatSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { messageOf, UwfError } from '../../errors.ts';
import { realPath } from '../../git/repository/git-directory.ts';
import type { Repository } from '../../git/repository.ts';
import { READ, readRegularFile } from '../../git/system/files.ts';
import { parseJson } from '../../json.ts';
import { orElse } from '../../or-else.ts';
import { arrayOf, isNumber, isString, objectOf, oneOf, type Shape } from '../../shape.ts';
import { stateFolder } from '../open/user-folders.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';

/** What a person agrees to, as a whole: the digest decides. The rest is there to be read, and to tell what has changed. */
export type Consent = {
  /** As the configuration has it: `agents.tests`, `snapshot`. */
  name: string;
  /** The SHA-256 of what is declared and of the contents of the files that it names. */
  digest: string;
  /** What is declared, a line for each value. */
  lines: string[];
  /** The files that it names, by the words that name them. */
  files: { word: string; sha256: string; bytes: number }[];
};

type ConsentFile = { form: 'uwf trust 1'; repository: string; trusted: Consent[] };

const isConsentFile: Shape<ConsentFile> = objectOf<ConsentFile>({
  form: oneOf(['uwf trust 1']),
  repository: isString,
  trusted: arrayOf(
    objectOf<Consent>({
      name: isString,
      digest: isString,
      lines: arrayOf(isString),
      files: arrayOf(objectOf<Consent['files'][number]>({ word: isString, sha256: isString, bytes: isNumber })),
    }),
  ),
});

/** A file of agreements is far smaller. A larger one is ignored. */
const MAX_BYTES = 16 * 1024 * 1024;
/** How many agreements are kept of one name: branches may differ. An older one is asked for again. */
const MAX_KEPT = 50;

/** What this user has agreed to for one repository and all its work trees. */
export class Consents {
  readonly #repository: string;
  readonly #path: string;

  constructor({ env }: Pick<CliEnvironment, 'env'>, { location }: Pick<Repository, 'location'>) {
    this.#repository = location === undefined ? '' : realPath(location.commonDir);
    const name = createHash('sha256').update(this.#repository).digest('hex');
    this.#path = join(stateFolder(env), 'trust', name);
  }

  /** What was agreed to, the newest last. A file that another user can write is ignored. */
  read(): Consent[] {
    const isSafe = (): boolean => isOwn(statSync(dirname(this.#path))) && isOwn(lstatSync(this.#path));
    // There is none, or it is damaged: the person is asked again.
    if (!orElse(isSafe, false)) return [];
    const bytes = orElse(() => readRegularFile(this.#path, MAX_BYTES, READ | constants.O_NOFOLLOW), undefined);
    const value = parseJson(bytes?.toString('utf8') ?? '');
    return isConsentFile(value) && value.repository === this.#repository ? value.trusted : [];
  }

  /** @throws {UwfError} if it cannot be written */
  add(consents: readonly Consent[]): void {
    let trusted = this.read();
    for (const { name, digest, lines, files } of consents) {
      trusted = trusted.filter((one) => one.name !== name || one.digest !== digest);
      const excess = trusted.filter((one) => one.name === name).slice(0, 1 - MAX_KEPT);
      trusted = [...trusted.filter((one) => !excess.includes(one)), { name, digest, lines, files }];
    }
    this.#write(trusted);
  }

  /** Takes back what was agreed to; @returns what that was. @throws {UwfError} if it cannot be written */
  remove(isMeant: (one: Consent) => boolean): Consent[] {
    const trusted = this.read();
    const removed = trusted.filter(isMeant);
    if (removed.length > 0) this.#write(trusted.filter((one) => !isMeant(one)));
    return removed;
  }

  #write(trusted: Consent[]): void {
    const folder = dirname(this.#path);
    const temporary = `${this.#path}.${randomUUID()}.tmp`;
    const content: ConsentFile = { form: 'uwf trust 1', repository: this.#repository, trusted };
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

/** Tells whether a person has agreed to a claim as it is now. */
export function isAgreed({ name, digest }: Consent, trusted: readonly Consent[]): boolean {
  return trusted.some((one) => one.name === name && one.digest === digest);
}

/** Tells whether something is this user's, and no other can write to it. */
function isOwn({ uid, mode }: { uid: number; mode: number }): boolean {
  const me = process.geteuid?.();
  return (me === undefined || uid === me) && (mode & 0o022) === 0;
}
