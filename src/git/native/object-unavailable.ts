import { UwfError } from '../../errors.ts';
import type { ObjectId } from '../object-id.ts';

/** An object that is fetched when it is first read could not be. It is promised, not lost. */
export class ObjectUnavailable extends UwfError {
  readonly id: ObjectId;
  constructor(id: ObjectId, said: string, cause?: unknown) {
    super(`object ${id} is not here yet and could not be fetched: ${lastLine(said)}`, {
      code: 'object-unavailable',
      kind: 'environment',
      hint: 'repeat when the remote can be reached; what was fetched before stays readable without it',
      cause,
    });
    this.id = id;
  }
}

function lastLine(said: string): string {
  return (
    said
      .trim()
      .split('\n')
      .at(-1)
      ?.replace(/^(?:fatal|error): /, '') ?? 'git said nothing'
  );
}
