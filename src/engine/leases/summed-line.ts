import { parseJson } from '../../json.ts';

const written = /,"sum":"([0-9a-f]{8})"\}$/;

/**
 * Writes an object with members as one line of JSON whose last member, `sum`, is a checksum of all before it.
 */
export function writeSummed(value: object, replacer?: (key: string, value: unknown) => unknown): string {
  const json = JSON.stringify(value, replacer).slice(0, -1);
  return `${json},"sum":"${sumOf(json)}"}`;
}

/**
 * Reads a line of {@link writeSummed}, without its sum; `undefined` if it is damaged or no JSON. A line without a sum was
 * written by an older version.
 */
export function readSummed(line: string): unknown {
  const match = written.exec(line);
  const json = match === null ? line : line.slice(0, match.index);
  if (match !== null && sumOf(json) !== match[1]) return undefined;
  return parseJson(match === null ? json : `${json}}`);
}

/**
 * FNV-1a with 32 bits, of the UTF-16 code units: lines are short, and to load a module that has a checksum takes the fast
 * commands longer than to reckon this one.
 */
function sumOf(text: string): string {
  let sum = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) sum = Math.imul(sum ^ text.charCodeAt(at), 0x01000193);
  return (sum >>> 0).toString(16).padStart(8, '0');
}
