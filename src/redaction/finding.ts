/** What a rule found, before it is settled which of those that overlap stays. */
export type Finding = {
  rule: string;
  start: number;
  end: number;
  /** What the mark is made of, where it is not the text itself: a known value in any of its encodings. */
  secret?: string;
  /** 0: a known value, 1: a provider's token, 2: a form with credentials, 3: randomness beside a name, 4: a person's own rule. */
  layer: number;
};
