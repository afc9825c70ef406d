/** Something about this repository or machine that will hurt. */
export type Diagnosis = {
  /** A stable word: `git-too-old`. */
  code: string;
  /** `problem`: something does not work; `warning`: it can become a problem. */
  level: 'problem' | 'warning';
  /** One sentence. */
  message: string;
  /** What to do about it. */
  hint: string;
};

/** Something does not work. */
export function problem(code: string, message: string, hint: string): Diagnosis {
  return { level: 'problem', code, message, hint };
}

/** Something can become a problem. */
export function warning(code: string, message: string, hint: string): Diagnosis {
  return { level: 'warning', code, message, hint };
}
