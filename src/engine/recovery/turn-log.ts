import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { constants, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { processesOfGroup } from '../../agent/processes/process-group.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { assertThere } from '../../git/repository/git-directory.ts';
import { APPEND, makeFolders, READ, readRegularFile, share, writeOwnFile } from '../../git/system/files.ts';
import { isJsonObject, parseJson } from '../../json.ts';
import { orElse, succeeds, tryTo } from '../../or-else.ts';
import { addUsage, type Usage } from '../../schema/built-in/schema-parts.ts';
import type { AttemptDraft } from '../../thread/draft-commit.ts';
import { findThread } from '../../thread/find-thread.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { iso } from '../../time/clock.ts';
import type { ObservedOthers } from '../isolation/observe-others.ts';
import { findLease, findLeaseRecord, findLeasesOf } from '../leases/find-lease.ts';
import type { FinishedTurn } from '../turn/step.ts';
import type { TurnFiles } from '../workspace/record-workspace.ts';

/** How a turn began, as far as it takes to store what becomes of it. */
export type BegunTurn = Pick<FinishedTurn, 'role' | 'rule' | 'prompt' | 'agent' | 'startedAtMs'> & {
  /** The commit that it goes on from; of one that does a step again, that step's. */
  head: ObjectId;
  again?: { word: string; as: ThreadId } | undefined;
  files: TurnFiles;
  /** What an isolated turn must not change; see `observeOthers`. */
  others?: ObservedOthers | undefined;
};

/** A turn of which no outcome is stored: it goes on, was cut off, or this machine keeps what it came to. */
export type OpenTurn = BegunTurn & {
  /** The replies that were not accepted. */
  refused: AttemptDraft[];
  /** What the newest try has used so far; null if its agent reported nothing. */
  used: Usage | null;
  /** When the newest reply arrived. */
  arrivedAtMs?: number | undefined;
  /** That reply and what belongs to it, if no file of a pending turn has it. */
  arrived?: Sealed | undefined;
  /** How many processes have gone on with that reply. */
  taken: number;
  /** A suspension stands for it until a person has said what becomes of it. */
  isHeld: boolean;
};

type Line =
  | { kind: 'begun'; turn: BegunTurn }
  | { kind: 'used'; usage: Usage }
  | { kind: 'refused'; attempt: AttemptDraft }
  | { kind: 'arrived'; atMs: number; usage: Usage | null; reply: Sealed }
  | { kind: 'taken' }
  | { kind: 'elsewhere'; isHeld: boolean };

/** The refused replies and the newest one of a few turns. */
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * Writes down, while a turn is taken, what its agent has used and what it replied, until an outcome of the turn is stored:
 * for the next command, if this process does not live to store one.
 *
 * The file is written with the first thing that costs something. It survives the death of the process and not always that of
 * the machine, and a full disk ends no turn: nothing here throws. Only the holder of the thread's lease writes.
 */
export class TurnLog {
  readonly #repository: Repository;
  readonly #thread: ThreadId;
  #begun: BegunTurn | undefined;

  constructor(repository: Repository, thread: ThreadId) {
    this.#repository = repository;
    this.#thread = thread;
  }

  /** A turn begins. It is written down once there is something to say of it. */
  begin(turn: BegunTurn): void {
    this.#begun = turn;
  }

  /** The try at work has used so much. */
  used(usage: Usage): void {
    this.#write({ kind: 'used', usage });
  }

  /** The reply that arrived was not accepted, and the agent is asked again. */
  refused(attempt: AttemptDraft): void {
    this.#write({ kind: 'refused', attempt });
  }

  /** A reply has arrived. @param sealed gives it, encrypted: it was not searched for secrets */
  arrived(atMs: number, usage: Usage | null, sealed: () => Sealed): void {
    tryTo(() => this.#write({ kind: 'arrived', atMs, usage, reply: sealed() }));
  }

  /** This process goes on with a reply that another one has got. */
  taken(): void {
    this.#write({ kind: 'taken' });
  }

  /** The reply is in the file of a pending turn; only its cost stays here. */
  elsewhere(isHeld: boolean): void {
    if (readTurnLog(this.#repository, this.#thread).length > 0) this.#write({ kind: 'elsewhere', isHeld });
  }

  /** An outcome is stored that has all that stands here. */
  forget(): void {
    this.#begun = undefined;
    const path = pathOf(this.#repository, this.#thread);
    if (path === undefined) inMemory.get(this.#repository)?.delete(this.#thread);
    else tryTo(() => rmSync(path, { force: true }));
  }

  #write(line: Line): void {
    const lines: Line[] = this.#begun === undefined ? [line] : [{ kind: 'begun', turn: this.#begun }, line];
    // A line that could not be written whole leaves the next one alone.
    const text = lines.map((each) => `\n${JSON.stringify(each)}\n`).join('');
    const path = pathOf(this.#repository, this.#thread);
    if (path === undefined) {
      const logs = inMemory.get(this.#repository) ?? new Map<ThreadId, string>();
      inMemory.set(this.#repository, logs.set(this.#thread, (logs.get(this.#thread) ?? '') + text));
      this.#begun = undefined;
      return;
    }
    const isWritten = succeeds(() => {
      assertThere(this.#repository);
      makeFolders(dirname(path));
      writeOwnFile(path, APPEND, text, 0o600);
      if (this.#begun !== undefined) share(path);
    });
    if (isWritten) this.#begun = undefined;
  }
}

/** The logs of repositories without a disk, which this process alone can see. */
const inMemory = new WeakMap<Repository, Map<ThreadId, string>>();

function pathOf({ stateDir }: Repository, thread: ThreadId): string | undefined {
  return stateDir === undefined ? undefined : join(stateDir, 'turns', `${thread}.jsonl`);
}

/** Reads the turns of a thread's log, oldest first, those too whose outcome was stored just before their process died. */
function readTurnLog(repository: Repository, thread: ThreadId): OpenTurn[] {
  const path = pathOf(repository, thread);
  const turns: OpenTurn[] = [];
  const text =
    path === undefined
      ? (inMemory.get(repository)?.get(thread) ?? '')
      : orElse(() => readRegularFile(path, MAX_BYTES, READ | constants.O_NOFOLLOW).toString('utf8'), '');
  for (const each of text.split('\n')) {
    const value = each === '' ? undefined : parseJson(each);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `TurnLog` wrote it: a line that was cut off is no JSON.
    if (isJsonObject(value)) takeIn(turns, value as unknown as Line);
  }
  return turns;
}

function takeIn(turns: OpenTurn[], line: Line): void {
  if (line.kind === 'begun') turns.push({ ...line.turn, refused: [], used: null, taken: 0, isHeld: false });
  const turn = turns.at(-1);
  if (turn === undefined) return;
  switch (line.kind) {
    case 'begun':
      return;
    case 'used':
      turn.used = line.usage;
      return;
    case 'refused':
      turn.refused.push(line.attempt);
      Object.assign(turn, { used: null, arrived: undefined, arrivedAtMs: undefined, taken: 0 });
      return;
    case 'arrived':
      Object.assign(turn, { used: line.usage, arrived: line.reply, arrivedAtMs: line.atMs });
      return;
    case 'taken':
      turn.taken += 1;
      return;
    case 'elsewhere':
      Object.assign(turn, { arrived: undefined, isHeld: line.isHeld });
  }
}

/** All that a turn has used, in all of its tries. */
export function usageOfTurn({ refused, used }: OpenTurn): Usage | null {
  return addUsage(
    refused.reduce<Usage | null>((sum, { usage }) => addUsage(sum, usage), null),
    used,
  );
}

const ALGORITHM = 'aes-256-gcm';

/** An encrypted value, in base64. */
export type Sealed = { iv: string; tag: string; data: string };

/** Encrypts a value of JSON. @param key 32 bytes */
export function seal(value: unknown, key: Uint8Array): Sealed {
  const iv = randomBytes(12);
  const cipher = createCipheriv(ALGORITHM, key, iv);
  const data = Buffer.concat([cipher.update(JSON.stringify(value)), cipher.final()]);
  return { iv: iv.toString('base64'), tag: cipher.getAuthTag().toString('base64'), data: data.toString('base64') };
}

/** Decrypts a value; `undefined` if it was not sealed with this key. */
export function unseal({ iv, tag, data }: Sealed, key: Uint8Array): unknown {
  const decipher = createDecipheriv(ALGORITHM, key, Buffer.from(iv, 'base64'), { authTagLength: 16 });
  decipher.setAuthTag(Buffer.from(tag, 'base64'));
  const text = orElse(() => Buffer.concat([decipher.update(Buffer.from(data, 'base64')), decipher.final()]), '');
  return parseJson(text.toString());
}

/** Finds the turns of a thread of which no outcome is stored, oldest first. */
export async function findOpenTurns(repository: Repository, thread: ThreadId): Promise<OpenTurn[]> {
  const turns = readTurnLog(repository, thread);
  const last = turns.at(-1);
  if (last?.arrivedAtMs === undefined) return turns;
  const { head, role, startedAtMs, arrivedAtMs: completedAtMs, isHeld } = last;
  // Its process may have died between storing it and forgetting the log.
  const pointer = await findThread(repository, thread);
  const turn = { role, startedAtMs, completedAtMs };
  return pointer && (await isTurnStored(repository, pointer.head, head, turn, isHeld)) ? [] : turns;
}

/**
 * Tells whether the outcome of a turn is stored in a thread.
 * @param from the head of the thread
 * @param until the commit that the turn went on from
 * @param isStep whether only a step counts
 */
export async function isTurnStored(
  repository: Repository,
  from: ObjectId,
  until: ObjectId,
  { role, startedAtMs, completedAtMs }: Pick<FinishedTurn, 'role' | 'startedAtMs' | 'completedAtMs'>,
  isStep = false,
): Promise<boolean> {
  const { readChain } = await import('../../thread/thread-chain.ts');
  for await (const { id, kind, node } of readChain(repository, from)) {
    if (kind === 'step') {
      if (node.role === role && node.startedAtMs === startedAtMs && node.completedAtMs === completedAtMs) return true;
    } else if (kind === 'suspend' && !isStep && node.role === role && node.suspendedAtMs === completedAtMs) return true;
    if (id === until) return false;
  }
  return false;
}

/** What the open turns of a thread have used, by their roles: it was spent, and no commit says so yet. */
export async function openUsage(repository: Repository, thread: ThreadId): Promise<ReadonlyMap<string, Usage>> {
  const sums = new Map<string, Usage>();
  for (const turn of await findOpenTurns(repository, thread)) {
    const sum = addUsage(sums.get(turn.role) ?? null, usageOfTurn(turn));
    if (sum !== null) sums.set(turn.role, sum);
  }
  return sums;
}

/** A run that its process did not live to finish: nothing else has worked on the thread since. */
export type Interruption = {
  /** The process that has ended, or can no longer be at work: its machine let the lease run out. */
  pid: number;
  host: string;
  /** When it began to work on the thread; ISO 8601, UTC. */
  since: string;
  /** The processes of its agents that still run on this machine. */
  processes: number[];
};

/** Finds out whether the process that worked on a thread has died over it; null if it has not. */
export function findInterruption(repository: Repository, thread: ThreadId): Interruption | null {
  const record = findLeaseRecord(repository, thread);
  if (record === undefined || findLease(repository, thread) !== undefined) return null;
  // The agent may work for a child thread, whose lease names its group.
  const groups = findLeasesOf(repository, record.holder).flatMap(({ processGroups }) => processGroups);
  const processes = [...new Set(groups.flatMap((group) => processesOfGroup(group)))].toSorted((a, b) => a - b);
  const { pid, host } = record.holder;
  return { pid, host, since: iso(record.sinceMs), processes };
}

/** Says what an interruption has left behind, as a sentence without its subject and full stop. */
export function describeInterruption({ pid, host, processes }: Interruption): string {
  const left =
    processes.length === 0
      ? 'no process of its agent is left here'
      : `of its agent ${processes.length === 1 ? 'process' : 'processes'} ${processes.join(', ')} still ${processes.length === 1 ? 'works' : 'work'}`;
  return `process ${pid} on ${host} died while it ran it; ${left}`;
}

export function hintAtInterruption(thread: ThreadId, { processes }: Interruption): string {
  const run = `'uwf thread run ${thread}'`;
  return processes.length === 0
    ? `${run} goes on with it`
    : `'uwf thread stop ${thread}' ends what still works; ${run} ends it and goes on`;
}
