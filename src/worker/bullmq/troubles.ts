import { messageOf } from '../../errors.ts';
import { ToldTexts } from '../told-texts.ts';
import { remedyFor, type RedisConnection } from './redis-connection.ts';

/** Tells what goes wrong with Redis: when the connection is lost and back, and each other fault once a minute. */
export class Troubles {
  readonly #connection: RedisConnection;
  readonly #onTrouble: (text: string) => void;
  /** More texts than a server has for its faults. */
  readonly #told = new ToldTexts(100);

  constructor(connection: RedisConnection, onTrouble: (text: string) => void) {
    this.#connection = connection;
    this.#onTrouble = onTrouble;
    connection.tellOf(onTrouble);
  }

  tell(error: unknown): void {
    // That the connection is lost has been told.
    if (!this.#connection.isReady) return;
    const text = messageOf(error);
    if (!this.#told.isNew(text)) return;
    this.#onTrouble(this.#told.withRemedy(`${this.#connection.address.name}: ${text}`, remedyFor(text)));
  }
}
