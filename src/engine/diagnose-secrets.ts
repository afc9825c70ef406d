import { isRedactable, shortestKnown } from '../redaction/known-values.ts';
import type { Diagnosis } from './diagnosis.ts';
import type { KnownSecret } from './known-secrets.ts';

/** Below this a value is a switch or a number of a port, and no secret. */
const SHORTEST_SECRET = 5;

/** Names what is secret and too short to be taken out of what agents say. */
export function diagnoseSecrets(secrets: readonly KnownSecret[]): Diagnosis[] {
  const short = secrets.filter(
    ({ value }) =>
      value.length >= SHORTEST_SECRET &&
      value.length < shortestKnown &&
      !isRedactable(value) &&
      !/^false$/iu.test(value),
  );
  if (short.length === 0) return [];
  const names = [...new Set(short.map(({ name }) => name))].join(', ');
  return [
    {
      level: 'warning',
      code: 'secret-too-short',
      message: `too short to be taken out of what agents say, for it would be found by chance: ${names}`,
      hint: `give it ${shortestKnown} characters or more, or keep it out of the environment of uwf`,
    },
  ];
}
