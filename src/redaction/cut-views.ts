import { DecodedView, type Part } from './known/decoded-view.ts';
import { strange, strangenessOf } from './rules/looks-random.ts';

/** A colour or another sequence of a terminal, characters without width, and what JSON makes of them. */
const invisible =
  '(?:(?:\\u001b|\\\\{1,7}(?:u001[Bb]|x1[Bb]|033|e))\\[[\\d;]{0,20}[A-Za-z]|[\\u00ad\\u200b-\\u200d\\u2060\\ufeff]|\\\\{1,7}u(?:00[Aa][Dd]|200[B-Db-d]|2060|[Ff][Ee][Ff][Ff]))';
/** What can be in the middle of a token: invisible, an escape of a visible character, or the end of a line. */
const cutAt = new RegExp(
  `${invisible}{1,8}(?=[\\w+/=.~%-])|\\\\{1,7}u00(?<code>[2-7][\\dA-Fa-f])|(?<end>\\\\?(?:\\r?\\n|(?:\\\\{1,8}r)?\\\\{1,8}n)[ \\t]{0,40})(?=[\\w+/.=~-]{4})`,
  'y',
);

const mayCut = /[\n\\\u001b\u00ad\u200b-\u200d\u2060\ufeff]/g;
const isInToken = Uint8Array.from({ length: 128 }, (_, code) => Number(/[\w+/=.~%-]/.test(String.fromCharCode(code))));

/** All that cuts what may be a token, in order. */
function* cutsIn(text: string): Generator<RegExpExecArray> {
  for (mayCut.lastIndex = 0; mayCut.test(text);) {
    let at = mayCut.lastIndex - 1;
    const next = mayCut.lastIndex;
    const code = text.charCodeAt(at);
    if (code === 10 && text.charCodeAt(at - 1) === 13) at--;
    // An escape may be the first character of a token.
    if (isInToken[text.charCodeAt(at - 1)] !== 1 && !(code === 92 && text.charCodeAt(at + 1) === 117)) continue;
    cutAt.lastIndex = at;
    const cut = cutAt.exec(text);
    if (cut === null) continue;
    mayCut.lastIndex = at + cut[0].length;
    yield cut;
    // Others may have searched meanwhile.
    mayCut.lastIndex = Math.max(next, at + cut[0].length);
  }
}

/** How far a token reaches, and how much before it can be its name, and behind it can say what it is. */
const [MAX_TOKEN, MAX_NAME, MAX_BEHIND] = [3072, 120, 100];
/** A line that is longer may have been broken anywhere. */
const LONG_LINE = 60;

/** Tells whether characters may be a part of a token, and are no word. */
function mayBePart(text: string): boolean {
  return /\d/.test(text) || strangenessOf(text) >= strange;
}

/** Tells whether the line that ends at a place is a long one. */
function endsLongLine(text: string, end: number): boolean {
  return end >= LONG_LINE && !/\n|\\n/.test(text.slice(end - LONG_LINE, end));
}

/** Tells whether what is before the end of a line may be the beginning of a token. */
function maySplit(text: string, end: number): boolean {
  let start = end;
  while (start > 0 && end - start < 64 && isInToken[text.charCodeAt(start - 1)] === 1) start--;
  const left = text.slice(start, end);
  if (endsLongLine(text, end)) return left !== '' && (/[=_]/.test(left) || mayBePart(left));
  return left.length >= 8 && !left.endsWith('=') && mayBePart(left);
}

/**
 * Tells whether a token may go on in the next line: both parts look like one, and the second has its line alone or the first
 * fills its line. Asks what takes long last: there is an end of a line everywhere.
 */
function goesOn(text: string, start: number, end: number): boolean {
  const isLong = endsLongLine(text, start);
  const behind = text.slice(end, end + MAX_TOKEN);
  // The name of a variable may be broken, too.
  if (isLong && /^[A-Z\d_]{0,40}=/.test(behind) && /\s[A-Z][A-Z\d_]+$/.test(text.slice(start - 40, start)))
    return maySplit(text, start);
  const [right = ''] = /^[\w+/.~-]+={0,2}/.exec(behind) ?? [];
  const rest = behind.slice(right.length, right.length + 8);
  if (!isLong && !/^["'`,;)\]}\\]{0,4}(?:[\r\n]|n|$)/.test(rest)) return false;
  return /[A-Za-z]/.test(right) && !/^[=:(]/.test(rest) && maySplit(text, start) && mayBePart(right.slice(0, 64));
}

/** The stretches of a text in which something cuts tokens, without it. */
export function* cutViews(text: string): Generator<DecodedView> {
  let [until, done, length] = [-1, 0, 0];
  let [parts, pieces]: [Part[], string[]] = [[], []];
  const take = (piece: string, from: number, end: number, isEscape: boolean): void => {
    if (piece === '') return;
    parts.push({ at: length, from, until: end, isEscape });
    pieces.push(piece);
    length += piece.length;
  };
  for (const match of cutsIn(text)) {
    const { index: start, 0: cut } = match;
    const end = start + cut.length;
    const code = match.groups?.['code'];
    const decoded = code === undefined ? '' : String.fromCharCode(Number.parseInt(code, 16));
    if (
      code === undefined
        ? match.groups?.['end'] !== undefined && !goesOn(text, start, end)
        : !/[\w+/=.~%&:@!#$^*-]/.test(decoded)
    )
      continue;
    const from = Math.max(0, runBefore(text, start) - MAX_NAME);
    if (from > until) {
      if (pieces.length > 0) {
        take(text.slice(done, until), done, until, false);
        yield new DecodedView(pieces.join(''), parts, undefined);
      }
      done = from;
      [parts, pieces, length] = [[], [], 0];
    }
    take(text.slice(done, start), done, start, false);
    take(decoded, start, end, true);
    done = end;
    until = Math.min(text.length, runBehind(text, end) + MAX_BEHIND);
  }
  if (pieces.length === 0) return;
  take(text.slice(done, until), done, until, false);
  yield new DecodedView(pieces.join(''), parts, undefined);
}

/** Where a token begins that the next line may go on with. */
export function openCut(text: string): number {
  let open = text.length;
  if (!/\s$/.test(text)) return open;
  for (let at = text.trimEnd().length, end = text.length; at > 0 && text.length - at < MAX_TOKEN;) {
    if (!/^\\?\r?\n?[ \t]{0,40}$/.test(text.slice(at, end)) || !maySplit(text, at)) return open;
    open = runBefore(text, at);
    const line = text.slice(0, open).trimEnd().length;
    if (!/\n/.test(text.slice(line, open))) return open;
    [at, end] = [line, open];
  }
  return open;
}

function runBefore(text: string, at: number): number {
  let start = at;
  while (start > 0 && at - start < MAX_TOKEN && !/\s/.test(text.charAt(start - 1))) start--;
  return start;
}

function runBehind(text: string, at: number): number {
  let end = at;
  while (end < text.length && end - at < MAX_TOKEN && !/\s/.test(text.charAt(end))) end++;
  return end;
}
