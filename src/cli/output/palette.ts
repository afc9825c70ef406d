import { mapValues } from '../../json.ts';
import type { OutputStream } from '../process/process-streams.ts';

/** The colour of each kind of text, as ECMA-48 numbers them. */
const colours = {
  /** Ids and hashes. */
  id: '33',
  /** Names of roles, workflows, agents. */
  name: '36',
  title: '1',
  /** What matters less. */
  quiet: '2',
  good: '32',
  warning: '33',
  error: '1;31',
  hint: '34',
} as const;

/** Colours by what a piece of text means. Where there is no colour each gives its text back. */
export type Palette = { readonly isColoured: boolean } & Readonly<
  Record<keyof typeof colours, (text: string) => string>
>;

/**
 * The colours of a stream: only on a terminal, unless the environment says otherwise.
 *
 * `NO_COLOR` (any value but the empty one) switches them off, `FORCE_COLOR` on (`0`: off), `TERM=dumb` off.
 * Source: no-color.org, force-color.org.
 */
export function createPalette(
  stream: Pick<OutputStream, 'isTTY'>,
  env: Readonly<Record<string, string | undefined>>,
): Palette {
  const isColoured = wantsColour(stream, env);
  const painter =
    (code: string) =>
    (text: string): string =>
      isColoured && text !== '' ? `\u001B[${code}m${text}\u001B[0m` : text;
  return { isColoured, ...mapValues(colours, painter) };
}

function wantsColour(stream: Pick<OutputStream, 'isTTY'>, env: Readonly<Record<string, string | undefined>>): boolean {
  if (env['NO_COLOR']) return false;
  const force = env['FORCE_COLOR'];
  if (force !== undefined) return force !== '0' && force !== 'false';
  return stream.isTTY === true && env['TERM'] !== 'dumb';
}

const statusColours = new Map<string, 'good' | 'name' | 'warning' | 'error'>([
  ['ended', 'good'],
  ['completed', 'good'],
  ['running', 'name'],
  ['suspended', 'warning'],
  ['interrupted', 'warning'],
  ['newer', 'warning'],
  ['failed', 'error'],
  ['corrupt', 'error'],
]);

/** A thread's status in its colour: green went well, yellow waits for you, red went wrong. */
export function paintStatus(paint: Palette, status: string): string {
  return paint[statusColours.get(status) ?? 'quiet'](status);
}
