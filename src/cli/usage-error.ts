import { UwfError } from '../errors.ts';

/** The command line cannot be meant. */
export class UsageError extends UwfError {
  constructor(message: string, hint?: string) {
    super(message, { code: 'usage', kind: 'usage', hint });
  }
}
