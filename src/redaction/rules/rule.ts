/** A form that secrets have. */
export type SecretRule = {
  /** As marks name it: lower case and hyphens. */
  name: string;
  /** What tells that the rule may match: three characters or more; in lower case where `isAnyCase`. */
  anchors: readonly string[];
  isAnyCase?: boolean;
  /** How many characters of a match are before its anchor; all are tried. None, unless something else is said. */
  before?: readonly number[];
  /** 1, a provider's token, unless something else is said. */
  layer?: number;
  /**
   * The source of a regular expression that is tried there. The group `s` is the secret, or else all of it. It has bounds:
   * 3072 characters in all, 256 up to the secret. White space may be before the secret, never in it.
   */
  pattern: string;
  /** What is tried behind the match, again and again in one line: then each of these matches is a finding, as `pattern` says. */
  each?: string;
  /** Most begin a word. Others look at what is before them in `check`, or not at all. */
  isInWord?: boolean;
  /** Looks closer. `before` is what is in front of the match, at most 300 characters. */
  check?: (secret: string, match: RegExpExecArray, before: string) => boolean;
};

/** Escapes that end in a letter or a digit: of JSON, of URLs, and the colours of a terminal. */
const escapes =
  '(?:\\\\[nrtbf]|\\\\u[0-9A-Fa-f]{4}|\\\\x[0-9A-Fa-f]{2}|%[0-9A-Fa-f]{2}|(?:\\u001b|\\\\u001b|\\\\x1b|\\\\033|\\\\e)\\[[\\d;]{0,12}[A-Za-z])';
const escape = new RegExp(escapes, 'g');
const escapeBefore = new RegExp(`${escapes}$`);

/** Tells whether a text ends in an escape, so that what follows begins a word. */
function endsInEscape(text: string): boolean {
  return escapeBefore.test(text);
}

/** The beginning of a name at the end of a text. */
export function nameAtEnd(text: string): string {
  return /[\w.-]{0,60}$/.exec(text.slice(-80).replaceAll(escape, ' '))?.[0] ?? '';
}

/** No character that a token or a mark could go on with. */
export const wordEnd = '(?![\\w‹])';

/** Standard base64, with what URLs and JSON make of `+`, `/` and `=`. */
export const base64 = '(?:[A-Za-z0-9+/]|%2[BbFf]|\\\\{1,3}/)';
export const padding = '(?:=|%3[Dd])';
/** What URLs and JSON make of it. */
export const slash = '(?:\\\\{0,3}/|%2[Ff])';
export const uuid = '[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}';

/** A quotation mark, also in JSON in JSON in JSON or in a URL. */
export const quote = '(?:\\\\{0,7}["\'`]|%22)';
/** A colour of a terminal. */
const colour = '(?:(?:\\u001b|\\\\{1,7}(?:u001[Bb]|x1[Bb]|033|e))\\[[\\d;]{0,12}m)?';
/** What stands for `is`: an operator, the next argument, the end of a tag, the next cell of a table, a word. */
const equals =
  '(?:=>|:=|(?:\\|\\||[?+])?={1,3}|(?:\\|\\||\\?\\?)(?=\\s{0,8}["\'`])|:(?!:)|%3[AaDd]|,(?=\\s{0,8}["\'`])|>(?=[^=\\s])|(?<=[ \\t])(?:\\||is|to)(?=[ \\t]))';
/**
 * What is between a name and a value that are beside each other: `name: X`, and in the next line `value: Y`; `X: { value: Y }`;
 * `<key>X</key><string>Y</string>`; a heading that is underlined.
 */
const beside =
  `${quote}?(?:,?[\\s+-]{1,30}|\\s{0,4}:\\s{0,4}\\{[^{}]{0,100}?)${quote}?[Vv]alue${quote}?\\s{0,4}[:=]\\s{0,4}|` +
  `${quote}?(?:>|</\\w{1,20}>)\\s{0,20}<(?:value|string)>|:[ \\t]{0,4}\\r?\\n-{3,20}\\r?\\n`;
/** Tells whether it is that which is between a name and a value beside it. */
export function isBeside(between: string): boolean {
  return /(?:value|string|---)\W*$/i.test(between);
}

/**
 * Where a blank is enough: after an option, before a quotation mark, and after the name in `ENV X y`, `set -gx X y`, `setenv X y`, `#define X y` and
 * `secret set X --body y`.
 */
const blank =
  '(?:(?<=(?:--|(?:\\b(?:ENV|setenv|setx|set(?: -\\w{1,3})?)|#[ \\t]{0,4}define)[ \\t]{1,4})[\\w.-]{1,60})[ \\t]{1,20}|[ \\t]{1,4}--(?:body|value|secret|data)[ =]{1,3}|[ \\t]{1,4}(?=["\'`]))';
/** Between a name and `=` where the language has types: `X: &str = "y"`. */
const type = `:[ \\t]{0,4}[&\\w'<>[\\]?. ]{1,40}=[ \\t]{0,4}(?=[bfr]?["'\`])`;

/** What is between the columns of a table: only random values are told from words there. */
export const columns = '[ \\t]{1,30}';

/** What is between a name and its value. */
export const separator: string = `(?![\\w.-])(?:${quote}?[\\]*]{0,3}${colour}[ \\t]{0,20}${equals}\\*{0,3}\\s{0,20}${colour}|${beside}|${blank}|${type})(?:[bfr]?${quote}(?:\\\\{1,7}["'])?)?`;

/** Tokens that a prefix tells: prefixes separated by blanks, and what follows them. */
export function prefixed(name: string, prefixes: string, body: string, more: Partial<SecretRule> = {}): SecretRule {
  const anchors = prefixes.split(' ');
  const starts = anchors.map((anchor) => anchor.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&')).join('|');
  const inUrls = body.replaceAll('[A-Za-z0-9+/]', base64).replaceAll('={', `${padding}{`);
  return { name, anchors, pattern: `(?:${starts})${inUrls}${wordEnd}`, ...more };
}

/** Values without a prefix: they count beside a name that has the provider in it, `DATADOG_API_KEY`. Lower case. */
export function named(name: string, providers: string, value: string, more: Partial<SecretRule> = {}): SecretRule {
  const anchors = providers.split(' ');
  const what =
    '[\\w.-]{0,30}?(?:key|token|secret|passw|pwd|auth(?!ors?\\b|or[_-])|pat\\b|credential|licen[cs]e)[\\w.-]{0,16}';
  const pattern = `(?:${anchors.join('|')})${what}${separator}(?<s>${value})${wordEnd}`;
  return { name, anchors, isAnyCase: true, pattern, isInWord: true, ...more };
}

export function hasDigit(secret: string): boolean {
  return /\d/.test(secret.slice(3));
}

export function hasDigitAndBothCases(secret: string): boolean {
  const body = secret.slice(3);
  return /\d/.test(body) && /[a-z]/.test(body) && /[A-Z]/.test(body);
}

/** Tells whether a token has letters and digits, as random characters have them. */
export function isVaried(secret: string): boolean {
  return /\d/.test(secret) && /[A-Za-z]/.test(secret) && new Set(secret).size >= 8;
}

/** A rule with the regular expression that is made when a text first has its anchor. */
export class ReadyRule {
  readonly rule: SecretRule;
  /** Its anchors are no accident in random text. */
  readonly isDistinct: boolean;
  #pattern: RegExp | undefined;
  #each: RegExp | undefined;

  constructor(rule: SecretRule) {
    this.rule = rule;
    this.isDistinct = rule.anchors.every(({ length }) => length >= 5);
  }

  /** Tries the rule at one place only. */
  matchesAt(text: string, at: number): readonly RegExpExecArray[] {
    const match = matchAt((this.#pattern ??= this.#compiled(this.rule.pattern)), text, at);
    if (match === null) return none;
    return this.rule.each === undefined ? [match] : this.#listFrom(text, at + match[0].length, this.rule.each);
  }

  #listFrom(text: string, first: number, each: string): RegExpExecArray[] {
    this.#each ??= this.#compiled(each);
    const list: RegExpExecArray[] = [];
    for (let next = first; next - first < MAX_LIST;) {
      const part = matchAt(this.#each, text, next);
      if (part === null) break;
      list.push(part);
      next += part[0].length;
    }
    return list;
  }

  #compiled(pattern: string): RegExp {
    return new RegExp(pattern, this.rule.isAnyCase === true ? 'iyd' : 'yd');
  }
}

/** Mostly nothing matches: no list is made for that. */
const none: readonly RegExpExecArray[] = [];

/** How far a list of findings goes. */
export const MAX_LIST = 8192;

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

type Anchor = { text: string; isAnyCase: boolean; rules: ReadyRule[] };

/** Three characters, five bits of each: `A` and `a` are the same. */
const hashed = 3;
const mask = (1 << (5 * hashed)) - 1;

/** Where in a text a rule can match: one pass, however many rules there are. */
export class AnchorIndex {
  /** For a hash the number of its bucket, or 0. */
  readonly #bucketOf = new Uint16Array(mask + 1);
  readonly #buckets: Anchor[][] = [[]];
  /** For each bucket, which fourth characters its anchors have: five bits of a character number a bit here. */
  readonly #fourths: number[] = [0];

  constructor(rules: readonly SecretRule[]) {
    for (const rule of rules) {
      const ready = new ReadyRule(rule);
      for (const anchor of rule.anchors) this.#add(anchor, ready);
    }
  }

  #add(text: string, rule: ReadyRule): void {
    let hash = 0;
    for (let at = 0; at < hashed; at++) hash = (hash << 5) | (text.charCodeAt(at) & 31);
    this.#bucketOf[hash] ||= this.#buckets.push([]) - 1;
    const number = this.#bucketOf[hash] ?? 0;
    const bucket = this.#buckets[number] ?? [];
    const fourth = text.length === hashed ? -1 : 1 << (text.charCodeAt(hashed) & 31);
    this.#fourths[number] = (this.#fourths[number] ?? 0) | fourth;
    const isAnyCase = rule.rule.isAnyCase === true;
    const known = bucket.find((anchor) => anchor.text === text && anchor.isAnyCase === isAnyCase);
    if (known === undefined) bucket.push({ text, isAnyCase, rules: [rule] });
    else known.rules.push(rule);
  }

  /** Calls back for each rule at each place where one of its anchors is. Places may overlap. */
  visit(text: string, visitor: (rule: ReadyRule, at: number) => void): void {
    const bucketOf = this.#bucketOf;
    const fourths = this.#fourths;
    let hash = 0;
    for (let at = 0; at < text.length; at++) {
      hash = ((hash << 5) | (text.charCodeAt(at) & 31)) & mask;
      const number = bucketOf[hash] ?? 0;
      if (number === 0 || at < hashed - 1) continue;
      if ((((fourths[number] ?? 0) >> (text.charCodeAt(at + 1) & 31)) & 1) === 0) continue;
      this.#look(text, at - hashed + 1, number, visitor);
    }
  }

  #look(text: string, at: number, number: number, visitor: (rule: ReadyRule, at: number) => void): void {
    for (const anchor of this.#buckets[number] ?? []) {
      if (!(anchor.isAnyCase ? startsWithAnyCase(text, anchor.text, at) : text.startsWith(anchor.text, at))) continue;
      for (const rule of anchor.rules) visitor(rule, at);
    }
  }
}

/** @param word in lower case */
function startsWithAnyCase(text: string, word: string, at: number): boolean {
  for (let offset = 0; offset < word.length; offset++) {
    const code = text.charCodeAt(at + offset);
    const lower = code >= 65 && code <= 90 ? code + 32 : code;
    if (lower !== word.charCodeAt(offset)) return false;
  }
  return true;
}

/**
 * Tells whether a word begins at a place: no letter or mark is in front of it, or only as the end of an escape.
 * @param isDistinct it cannot be a part of a random text, so a digit, `-` or `_` may be in front of it
 */
export function isWordStart(text: string, at: number, isDistinct: boolean): boolean {
  if (at === 0) return true;
  const code = text.charCodeAt(at - 1);
  if (code === 0x203a) return false;
  const isLetter = (code >= 97 && code <= 122) || (code >= 65 && code <= 90);
  // Digests in base64url have `-` and `_` in them.
  const isJoint = code === 95 || code === 45;
  if (!isLetter && (isDistinct || !(isJoint || (code >= 48 && code <= 57)))) return true;
  return !isJoint && endsInEscape(text.slice(Math.max(0, at - 24), at));
}

/** Tells whether a value stands for one: `$TOKEN`, `${{ secrets.X }}`, `<password>`, `xxxx`, `example`, `changeme`. */
export function isPlaceholder(value: string): boolean {
  if (
    /^(?:\$[\w({]|\{|%[A-Za-z_({]|\{\{|<|\[[A-Za-z]|@[A-Za-z_]+@$)|\$\{|\{\{|\.\.\.|…|\*{3}|x{4}|X{4}|_{4}|-{4}|#{3}/u.test(
      value,
    )
  ) {
    return true;
  }
  if (
    /example|placeholder|change[_-]?me|redacted|dummy|sample|(?:^|[_-])(?:your|my)[_-]|insert[_-]|replace[_-](?:with|me)|(?:^|[_-])here$/iu.test(
      value,
    )
  ) {
    return true;
  }
  return /^(?:(?:my|your|the|a|test|user)?[_-]?pass(?:word|wd|phrase|w)?\d?|pwd|secret|token|key|user(?:name)?|test|none|null|undefined|true|false|redacted|hidden|foo|bar|foobar|hunter2|admin|root)$/iu.test(
    value,
  );
}

/** Words of which passwords in manuals, tests, types and forms are made. No one else's password is guessed more easily. */
const wordsOfManuals =
  'pass(?:w(?:or[dt])?|wd|phrase|code)?s?|pwd?|pswd?|secrets?|user(?:name)?|login|admin(?:istrator)?|root|guest|default|tests?|testing|demo|dummy|fake|mock|foo|bar|baz|qux|' +
  'my|your|their|our|the|an?|this|that|some|any|text|value|here|new|old|current|(?:in)?correct|wrong|(?:in)?valid|good|bad|strong|weak|temp(?:orary)?|plain|raw|real|super|' +
  'top|very|too|long|short|first|second|other|another|same|different|encrypted|un|hash(?:ed)?|db|database|mysql|postgres(?:ql)?|mongo(?:db)?|redis|rabbitmq|sql|sa|app|' +
  'application|services?|server|client|account|e?mail|keys?|tokens?|api|auth|local|dev(?:elopment)?|prod(?:uction)?|staging|initial|change|changeit|reset|update|forgot|confirm(?:ation|ed)?|repeat|' +
  'verify|me|it|please|replace|with|insert|enter|set|put|type|use|to|for|be|is|not|no|none|null|nil|undefined|empty|blank|required?|optional|hidden|masked|redacted|removed|' +
  'omit(?:ted)?|sensitive|private|public|confidential|protected|unknown|missing|true|false|yes|on|off|todo|tbd|fixme|string|str|varchar|char|bytes?|number|int(?:eger)?|bool(?:ean)?|' +
  'field|column|input|form|var|const|let|return|await|async|func(?:tion)?|def|self|super|prompt|ask|generated?|random|auto|never|always|enabled?|disabled?|expired?|success|fail(?:ed|ure)?|error|' +
  'simple|easy|basic|common|cwd|dirname|pathname|again|length|data|word|hunter2|passwort|kennwort|contrase[nñ]a|clave|senha|mot|wachtwoord|parola|heslo|haslo|jelszo|salasana|' +
  'palavra|chave|files|compat|sss|systemd|nis|ldap|winbind|x-oauth-basic|x-access-token|losenord|adgangskode|sifre|sandi|kata|parool|lozinka|geslo';
let madeUp: RegExp | undefined;

/** Tells whether a password is none, or one of manuals and tests: `mypassword1`, `test-secret`, `<password>`, `string`. */
export function isMadeUp(value: string): boolean {
  madeUp ??= new RegExp(`^[^\\p{L}\\p{N}]?(?:(?:${wordsOfManuals})[\\d_.-]{0,4})+[!.:;,?]?$`, 'iu');
  return (
    isPlaceholder(value) ||
    /^[A-Za-z._:/=-]*(?:pass(?:w(?:or)?d|phrase)?|pwd|secret)[A-Za-z._:/=-]*\d*$|^\w+<[\w<>]*>$/i.test(value) ||
    /process\.env|\benviron|getenv|\bENV\b|import\.meta/.test(value) ||
    /^(?:[*•.xX_?#-]+|[[<{(].*[\]>})]|[:@#]\w+|['"]?[#$%]\{?\w*\}?)$/u.test(value) ||
    (value.length <= 48 && madeUp.test(value))
  );
}

/** How many bits a character of the text says, by how often each occurs. */
function entropyOf(text: string): number {
  const counts = new Map<string, number>();
  for (const letter of text) counts.set(letter, (counts.get(letter) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}

/** Object ids and digests in hexadecimal, numbers of 64 bits, UUIDs, ULIDs, hashes of nodes, digests with the name of their algorithm or of `go.sum`. */
const addresses =
  /^(?:(?:0x)?[0-9a-f]{1,40}|[0-9A-F]{1,40}|(?:[0-9A-Fa-f]{56}|[0-9A-Fa-f]{64}|[0-9A-Fa-f]{96}|[0-9A-Fa-f]{128})|\{?[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\}?|[0-7][0-9A-HJKMNP-TV-Z]{25}|[0-9A-HJKMNP-TV-Z]{13}|(?:[Ss][Hh][Aa]|[Mm][Dd]|blake|b|xxh)\d{1,3}[-:_].*|h1:[A-Za-z0-9+/]{43}=|Qm[1-9A-HJ-NP-Za-km-z]{44}|baf[a-z2-7]{50,})$/u;

/** Tells whether a text is the address of something: an object id, a hash, a ULID or a UUID. */
export function isAddress(text: string): boolean {
  return addresses.test(text);
}

/** For each letter, the letters that often follow it in English words and in code: nine of ten pairs in a word. */
const followers =
  'bcdfgiklmnprstuvwy aeilorsu acehiklorstu adeilorsu abcdefgilmnpqrstvwxy aefilorstuy aehinorsu aeiort abcdefglmnoprstvxz ' +
  'e eis adeilostuy abeimopsu acdefgiklnostuv abcdfgiklmnoprstuvw aehiloprstu u acdefgiklmnoprstuvy acehiklopstuy acehilorstuy ' +
  'abcdegilmnprst aeio aehinors ceipt inps e';
let usual: Set<number> | undefined;

/** From where on neighbours are stranger than words and names have them. */
export const strange = 0.34;

/** The share of neighbours, letters and digits, that are none in words: random characters have a half and more of them. */
export function strangenessOf(text: string): number {
  usual ??= new Set(
    followers
      .split(' ')
      .flatMap((all, first) => all.split('').map((letter) => first * 32 + numberOf(letter.charCodeAt(0)))),
  );
  let [pairs, strange, last] = [0, 0, -1];
  for (let at = 0; at < text.length; at++) {
    const here = numberOf(text.charCodeAt(at));
    if (here >= 0 && last >= 0) {
      pairs++;
      const isWord = here === digit ? last === digit : last !== digit && usual.has(last * 32 + here);
      if (!isWord) strange++;
    }
    last = here;
  }
  return pairs === 0 ? 0 : strange / pairs;
}

const digit = 26;

/** 0 to 25 for a letter of either case, one number for all digits, -1 for what joins words. */
function numberOf(code: number): number {
  if (code >= 48 && code <= 57) return digit;
  const letter = (code | 32) - 97;
  return code >= 65 && letter >= 0 && letter < 26 ? letter : -1;
}

/**
 * Tells whether a text is what a generator of random characters gives, not words, a path, or an address.
 * @param from how strange its neighbours are at least
 */
export function looksRandom(text: string, from: number = strange): boolean {
  if (text.length < 12 || isAddress(text)) return false;
  // The name of a ref, and two object ids with dots between.
  const parts = text.split(/[./:]+/);
  if (
    parts.length > 1 &&
    parts.some((part) => part.length >= 12 && isAddress(part)) &&
    !parts.some((part) => looksRandom(part, from))
  )
    return false;
  const letters = text.match(/[A-Za-z]/g)?.length ?? 0;
  const digits = text.match(/[0-9]/g)?.length ?? 0;
  if (letters < 3 || (letters + digits) * 3 < text.length * 2 || (digits === 0 && text.length < 16)) return false;
  return strangenessOf(text) >= from && entropyOf(text) >= Math.min(3.5, Math.log2(text.length) - 0.8);
}
