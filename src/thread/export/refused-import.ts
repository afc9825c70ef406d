import { UwfError } from '../../errors.ts';

/** A file is no exported thread, or not a whole and sound one. Nothing of it was stored. */
export class RefusedImport extends UwfError {
  /** Counted from 1; `undefined` where it is the file as a whole. */
  readonly line: number | undefined;
  readonly reason: string;
  constructor(line: number | undefined, reason: string, cause?: unknown) {
    super(`the file cannot be imported${line === undefined ? '' : ` (line ${line})`}: ${reason}`, {
      code: 'import-refused',
      kind: 'data',
      hint: "export it again with 'uwf thread export <thread> --with-nodes'; nothing was stored",
      cause,
    });
    this.line = line;
    this.reason = reason;
  }
}
