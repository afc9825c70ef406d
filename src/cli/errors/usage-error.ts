import { UwfError } from '../../errors.ts';
import { nearestName } from '../../text/nearest-name.ts';

/** A mistake in the command line. */
export class UsageError extends UwfError {
  constructor(message: string, hint?: string) {
    super(message, { code: 'usage', kind: 'usage', hint });
  }
}

/**
 * Returns the hint for an unknown name: the nearest known name, or `otherwise`, by default a list of the known names.
 * @param write how a name is typed
 */
export function hintAtName(
  name: string,
  known: readonly string[],
  otherwise = `there is ${known.join(', ')}`,
  write = (near: string): string => `'${near}'`,
): string {
  const near = nearestName(name, known);
  return near === undefined ? otherwise : `did you mean ${write(near)}?`;
}
