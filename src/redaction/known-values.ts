/** What is shorter is found by chance, and said to the person instead. */
const shortest = 12;

/** Tells whether a known value can be taken out of texts: long enough, and no word, path or number. */
export function isRedactable(value: string): boolean {
  if (value.length < shortest || (/^\s|\s$/u.test(value) && value.trim().length < shortest)) return false;
  if (/^[+-]?[\d.,_:\-/ ]+$/u.test(value)) return false;
  if (/^(?:\p{L}+[ _-]?)+$/u.test(value) && !/\p{Ll}\p{Lu}\p{Ll}?\p{Lu}/u.test(value)) return false;
  return !/^(?:~|\.{0,2})?(?:\/[\w.@ +-]*)+$/u.test(value);
}
