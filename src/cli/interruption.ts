import { UwfError } from '../errors.ts';

/** A person, or the end of a pipe, stopped the command. */
export class Interruption extends UwfError {
  /** The signal that did it. */
  readonly signal: string;
  constructor(signal: string) {
    super('interrupted', { code: 'interrupted', kind: 'interrupted' });
    this.signal = signal;
  }
}
