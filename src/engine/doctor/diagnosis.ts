import { UwfError } from '../../errors.ts';
import { isShortOfFiles } from '../../git/format/errors.ts';

/** Something about this repository or machine that will hurt. */
export type Diagnosis = {
  /** A stable word: `git-too-old`. */
  code: string;
  /** `problem`: something does not work; `warning`: it can become a problem. */
  level: 'problem' | 'warning';
  /** One sentence. */
  message: string;
  hint: string;
};

export function problem(code: string, message: string, hint: string): Diagnosis {
  return { level: 'problem', code, message, hint };
}

export function warning(code: string, message: string, hint: string): Diagnosis {
  return { level: 'warning', code, message, hint };
}

/** Throws an error that says nothing about what was examined: no more files can be opened. */
export function throwShortage(error: unknown): void {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (isShortOfFiles(cause)) throw cause;
}

/** Throws an error that says nothing about what was examined: a shortage, or a mistake of the program. */
export function assertFinding(error: unknown): asserts error is UwfError {
  throwShortage(error);
  if (!(error instanceof UwfError)) throw error;
}
