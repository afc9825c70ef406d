import { messageOf } from '../../errors.ts';
import { monotonicMs } from '../../monotonic-ms.ts';
import { remedyFor, type RedisConnection } from './redis-connection.ts';

/** A fault that goes on is told again after this time. */
const REPEAT_MS = 60_000;
/** More texts than a server has for its faults: texts with a changing part in them are not kept for ever. */
const MAX_TEXTS = 100;

/** Tells what goes wrong with Redis: when the connection is lost and back, and each other fault once a minute. */
export class Troubles {
  readonly #connection: RedisConnection;
  readonly #onTrouble: (text: string) => void;
  readonly #toldAtMs = new Map<string, number>();
  /** What can be done is told once. */
  readonly #remedies = new Set<string>();

  constructor(connection: RedisConnection, onTrouble: (text: string) => void) {
    this.#connection = connection;
    this.#onTrouble = onTrouble;
    connection.tellOf(onTrouble);
  }

  tell(error: unknown): void {
    // That the connection is lost has been told.
    if (!this.#connection.isReady) return;
    const text = messageOf(error);
    const nowMs = monotonicMs();
    if (nowMs - (this.#toldAtMs.get(text) ?? -Infinity) < REPEAT_MS) return;
    if (this.#toldAtMs.size >= MAX_TEXTS) this.#toldAtMs.clear();
    this.#toldAtMs.set(text, nowMs);
    const remedy = remedyFor(text);
    const isNew = remedy !== undefined && !this.#remedies.has(remedy);
    if (isNew) this.#remedies.add(remedy);
    this.#onTrouble(`${this.#connection.address.name}: ${text}${isNew ? ` (${remedy})` : ''}`);
  }
}
