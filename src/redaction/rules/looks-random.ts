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
 *
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
