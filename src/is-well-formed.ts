/** Not `\p{Surrogate}`: V8 takes a millisecond to compile that, in every command. */
const loneSurrogate = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;

/** Tells whether a text is well-formed Unicode: in UTF-16 no half of a surrogate pair stands alone. */
export function isWellFormed(text: string): boolean {
  return !loneSurrogate.test(text);
}
