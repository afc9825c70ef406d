import { isRedactable, MIN_KNOWN } from '../../redaction/known-values.ts';
import { warning, type Diagnosis } from './diagnosis.ts';
import type { KnownSecret } from '../redact/known-secrets.ts';

/** Below this a value is a switch or a number of a port, and no secret. */
const MIN_SECRET = 5;

/** Names what is secret and too short to be taken out of what agents say. */
export function diagnoseSecrets(secrets: readonly KnownSecret[]): Diagnosis[] {
  const short = secrets.filter(
    ({ value }) =>
      value.length >= MIN_SECRET && value.length < MIN_KNOWN && !isRedactable(value) && !/^false$/iu.test(value),
  );
  if (short.length === 0) return [];
  const names = [...new Set(short.map(({ name }) => name))].join(', ');
  const message = `too short to be taken out of what agents say, for it would be found by chance: ${names}`;
  const hint = `give it ${MIN_KNOWN} characters or more, or keep it out of the environment of uwf`;
  return [warning('secret-too-short', message, hint)];
}
