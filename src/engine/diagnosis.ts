/** Something about this repository or machine that will hurt. */
export type Diagnosis = {
  /** A stable word: `git-too-old`. */
  code: string;
  /** `problem`: something does not work; `warning`: it will hurt some day. */
  level: 'problem' | 'warning';
  /** One sentence. */
  message: string;
  /** What to do about it. */
  hint: string;
};
