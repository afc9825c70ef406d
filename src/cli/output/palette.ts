import type { OutputStream } from './output-stream.ts';

/** Colours by what a piece of text means. Where there is no colour each gives its text back. */
export type Palette = {
  readonly isColoured: boolean;
  /** Ids and hashes. */
  readonly id: (text: string) => string;
  /** Names of roles, workflows, agents. */
  readonly name: (text: string) => string;
  readonly title: (text: string) => string;
  /** What matters less. */
  readonly quiet: (text: string) => string;
  readonly good: (text: string) => string;
  readonly warning: (text: string) => string;
  readonly error: (text: string) => string;
  readonly hint: (text: string) => string;
};

const codes: Record<Exclude<keyof Palette, 'isColoured'>, string> = {
  id: '33',
  name: '36',
  title: '1',
  quiet: '2',
  good: '32',
  warning: '33',
  error: '1;31',
  hint: '34',
};

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
  const paint =
    (code: string) =>
    (text: string): string =>
      isColoured && text !== '' ? `\u001B[${code}m${text}\u001B[0m` : text;
  return {
    isColoured,
    id: paint(codes.id),
    name: paint(codes.name),
    title: paint(codes.title),
    quiet: paint(codes.quiet),
    good: paint(codes.good),
    warning: paint(codes.warning),
    error: paint(codes.error),
    hint: paint(codes.hint),
  };
}

function wantsColour(stream: Pick<OutputStream, 'isTTY'>, env: Readonly<Record<string, string | undefined>>): boolean {
  if (env['NO_COLOR']) return false;
  const force = env['FORCE_COLOR'];
  if (force !== undefined) return force !== '0' && force !== 'false';
  return stream.isTTY === true && env['TERM'] !== 'dumb';
}

/** A thread's status in its colour: green went well, yellow waits for you, red went wrong. */
export function paintStatus(paint: Palette, status: string): string {
  switch (status) {
    case 'ended':
    case 'completed':
      return paint.good(status);
    case 'running':
      return paint.name(status);
    case 'suspended':
    case 'interrupted':
    case 'newer':
      return paint.warning(status);
    case 'failed':
    case 'corrupt':
      return paint.error(status);
    default:
      return paint.quiet(status);
  }
}
