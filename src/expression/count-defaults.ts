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

/** What ends an operand or begins one, by what is before it: wildcard, parent and fields of that name; division or pattern. */
const DOUBLE_MEANING: ReadonlySet<string> = new Set(['*', '%', 'and', 'or', 'in', '/']);

/**
 * Counts the operators `?:` and `??` of an expression before JSONata parses it, for parsing them is what takes the time:
 * not those in strings, names in backticks, comments and patterns (`/(?:a|b)/`).
 *
 * Where only a parser can tell a division from a pattern, all that follows is counted as it stands: too much, never too
 * little. What comes after something that is not JSONata is not counted, for its parser stops there.
 */
export function countDefaults(source: string): number {
  let count = 0;
  let isAfterOperand = false;
  /** After `) <`, which a function's signature may begin: there JSONata takes tokens in without looking at them. */
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

/** As JSONata's lexer finds it: the first slash that is neither escaped nor in brackets. */
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
