import type { JsonValue } from '../../json.ts';
import type { ParsedOption } from './command.ts';
import { UsageError } from '../errors/usage-error.ts';

/** Reads a whole number from 1. */
export function parseCount(text: string): number {
  if (!/^\d{1,9}$/.test(text) || Number(text) === 0) {
    throw new UsageError(`needs a whole number from 1 on, not '${text}'`);
  }
  return Number(text);
}

/** Reads the number of a port; 0 is any that is free. */
export function parsePort(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) {
    throw new UsageError(`needs a port from 0 to 65535, not '${text}'`);
  }
  return Number(text);
}

/** Reads an amount of US dollars above 0: `5`, `0.25`. */
export function parseDollars(text: string): number {
  if (!/^\d{1,9}(?:\.\d{1,6})?$/.test(text) || Number(text) === 0) {
    throw new UsageError(`needs an amount of US dollars, not '${text}'`, 'write 5 or 0.25');
  }
  return Number(text);
}

const units: ReadonlyMap<string, number> = new Map([
  ['ms', 1],
  ['s', 1000],
  ['min', 60_000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
  ['w', 604_800_000],
]);

/** Reads a span of time such as `90s`, `2h`, `1.5d`; a bare number is seconds. @returns ms */
export function parseDuration(text: string): number {
  const match = /^(?<number>\d+(?:\.\d+)?)\s*(?<unit>[a-z]*)$/.exec(text.trim().toLowerCase());
  const factor = units.get(match?.groups?.['unit'] || 's');
  if (!match || factor === undefined) {
    throw new UsageError(`needs a span of time, not '${text}'`, 'write 30s, 5min, 2h or 3d');
  }
  return Math.round(Number(match.groups?.['number']) * factor);
}

/** Reads a span of time that limits something: at least a millisecond. @returns ms */
export function parseTimeLimit(text: string): number {
  const ms = parseDuration(text);
  if (ms >= 1 && Number.isSafeInteger(ms)) return ms;
  throw new UsageError(
    `needs a span of time from 1ms on, not '${text}'`,
    'leave the option out where it is not to limit',
  );
}

/** No date is further from 1970, in either direction. Source: ECMA-262, 21.4.1.1. */
const MAX_DATE_MS = 8.64e15;

/** A moment as a command line names it: a date, or how long ago. */
export type Moment = (nowMs: number) => number;

/** Reads a moment: `2d` (that long ago), `2026-11-21`, `2026-11-21T12:00Z`. A date without a zone is UTC. */
export function parseMoment(text: string): Moment {
  if (/^\d+(?:\.\d+)?\s*[a-z]+$/i.test(text.trim())) {
    const agoMs = parseDuration(text);
    if (agoMs > MAX_DATE_MS)
      throw new UsageError(`needs a date that there is, not '${text}'`, 'write 2026-11-21, or 2d');
    return (nowMs) => nowMs - agoMs;
  }
  const hasTime = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}/.test(text);
  const hasZone = /(?:Z|[+-]\d{2}:?\d{2})$/i.test(text);
  const timeMs = Date.parse(hasTime && !hasZone ? `${text.replace(' ', 'T')}Z` : text);
  if (Number.isNaN(timeMs) || !/^\d{4}-\d{2}/.test(text)) {
    throw new UsageError(`needs a date or a span of time, not '${text}'`, 'write 2026-11-21, 2026-11-21T12:00Z, or 2d');
  }
  return () => timeMs;
}

/** An option whose value is a moment. */
export function momentOption(summary: string): ParsedOption<Moment> {
  return { value: '<when>', summary, parse: parseMoment };
}

/** Reads JSON. @param mistake what is said, with the reason, of a text that is none */
export function readJson(text: string, mistake: string): JsonValue {
  try {
    const value: JsonValue = JSON.parse(text);
    return value;
  } catch (error) {
    throw new UsageError(`${mistake}: ${String(error)}`);
  }
}
