import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { parseJson } from '../../json.ts';
import { orElse } from '../../or-else.ts';

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
