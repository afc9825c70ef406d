import { UwfError } from '../errors.ts';

/** What a command prints could not be written: the disk is full, or the file may not be written to. */
export class OutputFailed extends UwfError {
  constructor(cause: Error) {
    super(`what this command prints could not be written: ${cause.message}`, {
      code: 'output-failed',
      kind: 'environment',
      hint: 'what it has stored is stored; have it print to another place',
      cause,
    });
  }
}
