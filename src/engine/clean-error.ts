import type { Redaction } from './redaction.ts';

/** Takes secrets out of all that an error says, its causes included: it goes to a terminal or a log. */
export function cleanError(redaction: Redaction, error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  for (const name of Object.getOwnPropertyNames(error)) {
    const property = Object.getOwnPropertyDescriptor(error, name);
    if (property?.writable !== true) continue;
    const clean = name === 'cause' ? cleanError(redaction, property.value) : cleaned(redaction, property.value);
    if (clean !== property.value) Object.defineProperty(error, name, { ...property, value: clean });
  }
  return error;
}

function cleaned(redaction: Redaction, value: unknown): unknown {
  if (typeof value === 'string') return redaction.text(value);
  // The facts of uwf's errors are JSON; what else an error has is not told.
  return Array.isArray(value) ? redaction.value(value) : value;
}
