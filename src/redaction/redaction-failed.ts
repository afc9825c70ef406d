import { UwfError } from '../errors.ts';

/** A text could not be searched for secrets to its end, so none of it may be written or shown. */
export class RedactionFailed extends UwfError {
  constructor(message: string, hint: string, cause?: unknown) {
    super(message, { code: 'redaction-failed', kind: 'timeout', hint, cause });
  }
}
