/** The tokens of JSONata 2, in its lexer's order; a slash that is neither comment nor division begins a pattern. */
const TOKEN = new RegExp(
  [
    String.raw`(?<blank>[ \t\n\r\v]+|/\*[^]*?\*/)`,
    String.raw`(?<default>\?[?:])`,
    String.raw`(?<operand>\*\*|[\])}]|"(?:\\[^]|[^"\\])*"|'(?:\\[^]|[^'\\])*'|\x60[^\x60]*\x60|(?:0|[1-9]\d*)(?:\.\d+)?(?:[Ee][-+]?\d+)?|[^ \t\n\r\v.[\](){},@#;:?+\-*/%|=<>^&!~]+)`,
    '[^]',
  ].join('|'),
  'uy',
);

/** Tokens that are operators behind an operand, and elsewhere a wildcard, the parent, a field of that name, or a pattern. */
const DOUBLE_MEANING: ReadonlySet<string> = new Set(['*', '%', 'and', 'or', 'in', '/']);

/**
 * Counts the operators `?:` and `??` of an expression. JSONata has not parsed it yet, because parsing them is what takes
 * long. Strings, names in backticks, comments and patterns (`/(?:a|b)/`) do not count.
 *
 * If only a parser can tell whether a slash is a division or begins a pattern, everything after it counts: the result may be
 * too large, but never too small. Text after a syntax error does not count, because JSONata's parser stops there.
 */
export function countDefaults(source: string): number {
  let count = 0;
  let isAfterOperand = false;
  /** After `) <`, where a function's signature may begin: JSONata reads over its tokens. */
  let mayBeSignature = false;
  let before = '';
  for (TOKEN.lastIndex = 0; TOKEN.lastIndex < source.length;) {
    const at = TOKEN.lastIndex;
    const { groups, 0: token = '' } = TOKEN.exec(source) ?? {};
    if (groups === undefined) return count;
    if (groups['blank'] !== undefined) continue;
    if (groups['default'] !== undefined) count += 1;
    if (token === '/' && source[at + 1] === '*') return count;
    if (token === '/' && isAfterOperand) {
      if (mayBeSignature || /[\])}]/u.test(before)) return count + source.slice(at).split(/\?[?:]/u).length - 1;
    } else if (token === '/') {
      TOKEN.lastIndex = endOfPattern(source, TOKEN.lastIndex);
    }
    if (token === '<' && before === ')') mayBeSignature = true;
    if (token === '{') mayBeSignature = false;
    isAfterOperand = DOUBLE_MEANING.has(token) ? !isAfterOperand : groups['operand'] !== undefined;
    before = token;
  }
  return count;
}

/** Finds the end of a pattern as JSONata's lexer does: the first slash that is neither escaped nor in brackets. */
function endOfPattern(source: string, start: number): number {
  let depth = 0;
  let backslashes = 0;
  for (let at = start; at < source.length; at += 1) {
    const character = source.charAt(at);
    if (character === '/' && depth === 0 && backslashes % 2 === 0) return at + 1;
    if ('([{'.includes(character) && backslashes === 0) depth += 1;
    if (')]}'.includes(character) && backslashes === 0) depth -= 1;
    backslashes = character === '\\' ? backslashes + 1 : 0;
  }
  return source.length;
}
