import { readDerivedFile, tryToWriteDerivedFile } from '../../git/system/derived-file.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { readLightChain, type LightCommit } from '../../thread/read/light-chain.ts';
import { CorruptThread } from '../../thread/thread-errors.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { derivedPath } from '../../thread/read/derived-path.ts';

/** Which thread, and how far. */
type Until = { id: ThreadId; head: ObjectId };

const hashLength = 13;
const FORM = 'steps 1';

/** The places that were found last: an export asks for those of one thread for each of its pages. */
const latest = new WeakMap<Repository, { head: ObjectId; places: StepPlaces }>();

/**
 * Finds where the steps of a thread are, as nothing in git leads from a step's number or hash to its commit.
 *
 * This machine remembers it: of the chain only what is newer is read. A chain never changes behind a commit, so what was
 * remembered is right for every head that reaches the last of it; the rest is forgotten.
 * @throws {CorruptThread} if the chain is damaged, or its steps are not numbered one after the other
 */
export async function findStepPlaces(repository: Repository, until: Until): Promise<StepPlaces> {
  const last = latest.get(repository);
  if (last?.head === until.head) return last.places;
  const places = await readStepPlaces(repository, until);
  latest.set(repository, { head: until.head, places });
  return places;
}

async function readStepPlaces(repository: Repository, { id, head }: Until): Promise<StepPlaces> {
  const path = derivedPath(repository, id, 'steps');
  const known = new StepPlaces(path === undefined ? '' : readLines(path, head.length), head.length);
  const newer: string[] = [];
  let kept = 0;
  let expected: number | undefined;
  for await (const commit of readLightChain(repository, head)) {
    const number = numberOf(commit);
    if (number === undefined) continue;
    if (expected !== undefined && number !== expected) {
      throw new CorruptThread(commit.id, `it is step ${number} where ${expected} was expected`);
    }
    expected = number - 1;
    if (known.commitOf(number) === commit.id) {
      kept = number + 1;
      break;
    }
    newer.push(`${commit.hash} ${commit.id}\n`);
  }
  if (newer.length === 0 && kept === known.count + 1) return known;
  const lines = known.first(kept) + newer.toReversed().join('');
  if (path !== undefined) tryToWriteDerivedFile(path, FORM, lines);
  return new StepPlaces(lines, head.length);
}

/**
 * Where the steps of a thread are: the hash and the commit of each by its number, those of the start under 0. They are lines of
 * one length, `<hash> <object id>`.
 */
export class StepPlaces {
  /** How many steps there are. */
  readonly count: number;
  readonly #text: string;
  readonly #length: number;

  constructor(text: string, idLength: number) {
    this.#text = text;
    this.#length = hashLength + idLength + 2;
    this.count = text.length / this.#length - 1;
  }

  /** The commit of the step of this number; `undefined` if there is none. */
  commitOf(number: number): ObjectId | undefined {
    if (!(number >= 0 && number <= this.count)) return undefined;
    const at = number * this.#length;
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `readLines` has looked at every line.
    return this.#text.slice(at + hashLength + 1, at + this.#length - 1) as ObjectId;
  }

  /** The numbers of the steps whose hash begins with this text, upper case; the start is none. */
  findByPrefix(prefix: string): number[] {
    const numbers: number[] = [];
    for (let number = 1; number <= this.count; number++) {
      if (this.#text.startsWith(prefix.slice(0, hashLength), number * this.#length)) numbers.push(number);
    }
    return prefix.length > hashLength ? [] : numbers;
  }

  /** The first so many lines. */
  first(count: number): string {
    return this.#text.slice(0, count * this.#length);
  }
}

function numberOf(commit: LightCommit): number | undefined {
  if (commit.kind === 'start') return 0;
  return commit.kind === 'step' ? commit.node.number : undefined;
}

/** What was remembered; nothing if that is not whole. */
function readLines(path: string, idLength: number): string {
  const lines = readDerivedFile(path, FORM) ?? '';
  return new RegExp(`^(?:[0-9A-Z]{${hashLength}} [0-9a-f]{${idLength}}\n)*$`).test(lines) ? lines : '';
}
