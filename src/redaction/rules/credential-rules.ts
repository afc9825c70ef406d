import {
  base64,
  isAddress,
  isBeside,
  isMadeUp,
  isPlaceholder,
  looksRandom,
  nameAtEnd,
  padding,
  quote,
  type SecretRule,
  separator,
  strange,
  strangenessOf,
  wordEnd,
} from './rule.ts';

/** A character between blanks and quotation marks. */
const anyValue = '[^\\s"\'`\\\\<>‹›()[\\]\\u001b]';

/** A character of a password in a URL. */
const inPassword = '[^\\s@/"\'`<>‹›\\\\\\u001b]';

/** A character of a password on a command line. */
const inCommand = '[^\\s"\'`\\\\<>‹›|;&\\u001b]';
const gap = '(?:["\'],[ \\t]{0,4}["\']|[ \\t=]{0,4}["\']?)';

/** Hosts of manuals and of tests: names that RFC 2606 reserves, placeholders, and this machine. */
const madeUpHost =
  /^(?:127\.0\.0\.1|(?:my|some|the)?-?(?:host|hostname|server|domain)\d?|foo|bar)$|(?:^|\.)(?:example|test|invalid|localhost|(?:my)?domain|host|server|foo|bar)(?:\.(?:com|net|org|edu))?$/i;

/** Programs, and the option before a password on their command lines. A blank may be missing, or be a comma in a list. */
const commands: readonly (readonly [programs: string, option: string])[] = [
  ['mysql|mariadb', '-p(?!ort\\b|rotocol\\b)'],
  ['sshpass', '-p '],
  ['redis-cli|valkey-cli|keydb-cli', '(?:-a|--pass) '],
  ['ldapsearch|ldapadd|ldapmodify|ldapdelete|ldapwhoami|ldappasswd', '-w '],
  ['mongo |mongosh|mongodump|mongorestore|mongoexport|mongoimport', '-p '],
  ['smbclient|rpcclient|smbget|smbmap', '-U [\\w.@/\\\\-]{1,80}%'],
  ['docker login|podman login|nerdctl login|buildah login|skopeo login|helm registry login', '-p '],
  ['lftp', '-u [\\w.@-]{1,80},'],
  ['ipmitool|mosquitto_pub|mosquitto_sub|sqlcmd|unzip', '-P '],
  ['openssl', '-pass(?:in|out)? pass:'],
  ['keytool|jarsigner', '-(?:dest|src)?(?:store|key)pass '],
  ['xfreerdp', '/p:'],
  ['plink|pscp|psftp', '-pw '],
  ['cqlsh|influx', '-p '],
  ['snmpwalk|snmpget', '-[AX] '],
  ['htpasswd', '-[a-zA-Z]{0,3}b[a-zA-Z]{0,3} [\\w./-]{1,80} [\\w.@-]{1,60} '],
];

/** Words that a password follows in files of programs and in SQL. */
const phrases: readonly (readonly [words: string, behind: string])[] = [
  ['requirepass|masterauth|rootpw', `[ \\t]{1,8}["']?(?<s>${inCommand}{4,200})(?=["']|\\s*(?:\\n|$))`],
  ['identified by|with password|encrypted password', `[ \\t]{1,8}["'](?<s>${inCommand}{4,200})["']`],
];

/** Forms that hold a credential of any provider: URLs, headers, connection strings, and files of programs. */
export const credentialRules: readonly SecretRule[] = [
  {
    name: 'url-password',
    isInWord: true,
    anchors: ['://', ':\\/\\/'],
    pattern:
      ':(?:\\\\?/){2}(?<u>[^\\s:@/"\'`<>‹›?#\\\\|,]{0,200}):(?!\\d{1,5}[?#/])' +
      `(?<s>${inPassword}{1,800}(?:@(?:(?![?#])${inPassword}){0,200}){0,3})@(?=[\\w\\[$%{-])`,
    check: isUrlPassword,
  },
  {
    name: 'url-password',
    isInWord: true,
    anchors: ['%3a%2f%2f'],
    isAnyCase: true,
    pattern: '%3A%2F%2F(?<u>[\\w.~+-]{0,200})%3A(?<s>(?:[\\w.~+!*-]|%(?!40|2F)[0-9A-F]{2}){4,800})%40(?=\\w)',
    check: isUrlPassword,
  },
  {
    name: 'url-token',
    isInWord: true,
    anchors: ['://', ':\\/\\/'],
    pattern: ':(?:\\\\?/){2}(?<s>[\\w.~+%=-]{16,800})(?::x-oauth-basic|:)?@(?=[A-Za-z0-9\\[])',
    check: (secret, match) => looksRandom(secret) || (match[0].includes(':x-oauth-basic@') && !isPlaceholder(secret)),
  },
  {
    name: 'authorization',
    isInWord: true,
    anchors: ['authorization'],
    isAnyCase: true,
    pattern: `authorization${separator}(?:[A-Za-z][A-Za-z0-9-]{2,20}[ \\t]{1,4}(?:token=["'\\\\]{0,3})?)?(?<s>[\\w.~+/=-]{8,2048})`,
    check: isCredential,
  },
  {
    name: 'authorization',
    anchors: ['bearer', 'basic', 'apikey'],
    isAnyCase: true,
    pattern: '(?:bearer|basic|apikey)(?:[ \\t]{1,4}|%20|\\+)(?<s>[\\w.~+/=-]{16,2048})',
    check: (secret, match) => (/^basic/i.test(match[0]) ? isUserAndPassword(secret) : looksRandom(secret)),
  },
  {
    name: 'connection-password',
    isInWord: true,
    anchors: ['password', 'pwd'],
    isAnyCase: true,
    pattern: `(?:password|pwd)\\s{0,3}=\\s{0,3}["'{]?(?<s>[^\\s;,"'\`<>‹›\\\\\u001b]{3,200})`,
    check: (secret, match, before) => {
      const behind = match.input.slice(match.index, match.index + match[0].length + 200).split(/\s/, 1)[0] ?? '';
      const isConnection =
        /(?:^|[;,?&\s"'`(])(?:server|data source|host|user ?id|uid|user|database|initial catalog|driver|endpoint|dbname)=(?:[^=\n]*|\S*)$/i.test(
          before,
        ) || /;\s*(?:server|data source|host|user ?id|uid|database|initial catalog|driver)=/i.test(behind);
      return (
        isConnection &&
        !isPlaceholder(secret) &&
        !/^[\w.]*[([]/.test(secret) &&
        !/^(?:process|os|env|config|self|this)\./.test(secret)
      );
    },
  },
  {
    name: 'npmrc-token',
    anchors: ['_authtoken', '_auth', '_password'],
    isAnyCase: true,
    pattern: `_(?:authToken|auth|password)[ \\t]{0,4}(?:=|%3D)[ \\t]{0,4}["']?(?<s>${anyValue}{8,2048})(?![([])`,
    isInWord: true,
    check: (secret, _, before) => !isPlaceholder(secret) && /(?:^|[/:\s"'`]|\\n|%3A)$/i.test(before),
  },
  {
    name: 'netrc-password',
    anchors: ['password'],
    pattern: 'password\\s{1,8}(?<s>[^\\s"\'`‹›]{3,200})',
    check: (secret, _, before) =>
      /(?:machine\s+\S+|default)\s+(?:login|user)\s+\S+\s+$/.test(before) && !isPlaceholder(secret),
  },
  {
    name: 'pgpass-password',
    anchors: [':5432:', ':5433:', ':6432:', ':6543:', ':*:'],
    isInWord: true,
    pattern: ':(?:\\d{4}|\\*):[\\w.*-]{1,63}:[\\w.*-]{1,63}:(?<s>[^\\s:"\'`\\\\<>‹›]{4,200})(?=[\\s"\'`\\\\]|$)',
    check: (secret, _, before) => /(?:^|[\s"'`=])[\w.*-]{1,253}$/.test(before) && !isPlaceholder(secret),
  },
  {
    name: 'django-secret-key',
    anchors: ['secret_key', 'secret-key', 'secretkey'],
    isAnyCase: true,
    isInWord: true,
    pattern: `secret[_-]?key${separator}(?<s>(?:django-insecure-)?[a-z0-9!@#$%^&*(_=+)-]{50})(?=["'\`\\\\\\s\u001b]|$)`,
  },
  {
    name: 'docker-auth',
    anchors: ['auth"', "auth'", 'auth\\', 'auth%22'],
    pattern: `auth${quote}\\s{0,8}(?::|%3A)\\s{0,8}${quote}(?<s>${base64}{12,600}${padding}{0,2})`,
    check: isUserAndPassword,
  },
  {
    name: 'user-password',
    anchors: ['-u ', '-a ', '-U ', '--user ', '--user=', '--auth ', '--auth=', '--proxy-user ', '-u\\"', "-u'", '-u"'],
    pattern: '(?:-[uaU]|--(?:proxy-)?user|--auth)[ =]{0,2}\\\\?["\']?[\\w.@+-]{1,100}:(?<s>[^\\s"\'`<>‹›\\\\]{4,200})',
    check: (secret, _, before) =>
      /\b(?:curl|wget|http|https|xh)\b[^\n]*$/.test(before) && !isPlaceholder(secret) && !/^\d{1,5}$/.test(secret),
  },
  ...commands.map(([programs, option]): SecretRule => ({
    name: 'command-password',
    anchors: programs.split('|'),
    pattern: `(?:${programs})[\\w.-]{0,20}(?:(?=["'\\s])|(?<= ))(?:[^\\n|;&‹›]|\\\\\\n){0,120}?(?<=[\\s"'])${option.replaceAll(' ', gap)}["'\\\\]{0,2}(?<s>${inCommand}{4,200})`,
    check: isInCommand,
  })),
  ...phrases.map(([words, behind]): SecretRule => ({
    name: 'command-password',
    anchors: words.split('|'),
    isAnyCase: true,
    pattern: `(?:${words})${behind}`,
    check: (secret, match, before) =>
      isInCommand(secret) &&
      (!match[0].includes(' ') || !/^\w+ed by|password/i.test(match[0]) || /\b(?:user|role|grant)\b/i.test(before)),
  })),
  {
    name: 'command-password',
    anchors: ['echo ', 'printf '],
    pattern: `(?:echo|printf)(?: -n)? {1,4}["']?(?<s>${inCommand}{4,200})["']? {0,4}\\| {0,4}[^\\n|]{0,120}(?:pass(?:word|phrase)?-stdin\\b|\\bsudo -S)`,
    check: isInCommand,
  },
  {
    name: 'cookie',
    anchors: ['cookie'],
    isAnyCase: true,
    isInWord: true,
    pattern: `cookie${quote}?\\]?[ \\t]{0,4}[:=,][ \\t]{0,4}\\[?[ \\t]{0,4}${quote}?`,
    each: `(?<n>[\\w.!#$&*+^|~%-]{1,100})=(?<s>[^\\s;,"'\`\\\\‹›\\u001b]{0,2800})(?:\\\\{0,7}["',; \\t]){0,6}`,
    check: isSessionCookie,
  },
  // A file of cookies, as browsers and curl write it: host, its subdomains, path, only encrypted, until when, name, value.
  {
    name: 'cookie',
    anchors: ['\tTRUE\t', '\tFALSE\t'],
    isInWord: true,
    pattern: '\\t(?:TRUE|FALSE)\\t\\d{1,20}\\t(?<n>[^\\s]{1,100})\\t(?<s>[^\\s‹›]{1,2800})',
    check: isSessionCookie,
  },
  {
    name: 'jwt',
    anchors: ['eyJ'],
    pattern: `eyJ[\\w-]{8,600}\\.(?:eyJ[\\w-]{8,1500}|[\\w-]{0,600}\\.[\\w-]{8,40}\\.[\\w-]{8,1000})\\.[\\w-]{16,700}${wordEnd}`,
    check: (secret) =>
      /"(?:alg|typ|kid|enc)"/.test(Buffer.from(secret.split('.', 1)[0] ?? '', 'base64url').toString('latin1')),
  },
  {
    name: 'jwk-private-key',
    anchors: ['"d"', '"d\\"', '\\"d\\"'],
    pattern: '\\\\?"d\\\\?"\\s{0,4}:\\s{0,4}\\\\?"(?<s>[\\w-]{43,700})\\\\?"',
    check: (secret, match, before) =>
      /"kty\\?"/.test(
        before + match.input.slice(match.index, match.index + match[0].length + 600).split(/\s\s/, 1)[0],
      ) && looksRandom(secret),
  },
];
// Every form, not a provider's.
for (const rule of credentialRules) rule.layer = 2;

function isCredential(secret: string, match: RegExpExecArray): boolean {
  if (isPlaceholder(secret)) return false;
  const isPlain = !/\bbasic\s/i.test(match[0]) || passwordOf(secret) === undefined;
  return isPlain ? looksRandom(secret) : isUserAndPassword(secret);
}

function isUserAndPassword(secret: string): boolean {
  const password = passwordOf(secret);
  return password !== undefined && !isPlaceholder(password);
}

/** The password in base64 of `user:password`. */
function passwordOf(secret: string): string | undefined {
  const decoded = Buffer.from(secret.replaceAll('\\', ''), 'base64').toString('latin1');
  return /^[\x20-\x39\x3b-\x7e]{1,200}:([\x20-\x7e]{3,500})$/.exec(decoded)?.[1];
}

function isUrlPassword(secret: string, match: RegExpExecArray, before: string): boolean {
  if (!/[A-Za-z][A-Za-z0-9+.-]{1,30}$/.test(before)) return false;
  const user = match.groups?.['u'] ?? '';
  if (secret.length < 4) return false;
  // `user:pass@` is what others find too, in manuals as well.
  const isFamous = /^pass$/i.test(secret);
  if ((isPlaceholder(secret) && !isFamous) || /^(?:\$|%[({A-Z]|\{|\[|:)/.test(secret) || /^(.)\1*$/.test(secret))
    return false;
  if (/^\d{1,5}$/.test(secret) && user.includes('.')) return false;
  if (user === '' && secret.includes(':')) return false;
  // A word alone is a password where the host is one of the world's.
  const behind = match.input.slice(match.index + match[0].length, match.index + match[0].length + 100);
  const host = /^[\w-]+(?:\.[\w-]+)*/.exec(behind)?.[0] ?? '';
  if (madeUpHost.test(host) && !isFamous && isWord(secret)) return false;
  if (/^[A-Za-z]{1,8}$/.test(secret) && !/\w\.[A-Za-z]{2,}/.test(host)) return false;
  return !(
    secret === user ||
    /^x-oauth-basic$/i.test(secret) ||
    /[(){}]/.test(secret) ||
    /^(?:postgres|mysql|pswd|letmein|word)$/i.test(secret)
  );
}

function isInCommand(secret: string): boolean {
  return !isMadeUp(secret) && !/^(?:[\d.:-]{1,12}$|[-$])/.test(secret);
}

/** Tells whether a cookie stands for a session: by its name, or because its value is random. */
function isSessionCookie(secret: string, match: RegExpExecArray): boolean {
  if (secret.length < 8 || isPlaceholder(secret) || /^[a-z]{1,15}$/i.test(secret)) return false;
  const name = match.groups?.['n'] ?? '';
  if (/^(?:path|domain|expires|max-age|samesite|version|_ga\w*|_gid|_fbp|utm\w*)$/i.test(name)) return false;
  if (
    /sess|sid$|auth|token|jwt|login|remember|csrf|xsrf|secret|passw|credential|^__(?:host|secure)-|api_?key/i.test(name)
  )
    return true;
  return isAddress(secret) ? secret.length >= 24 : secret.split(/[.:%|]/).some(looksRandom);
}

/** Tells whether a password is a word of a manual: `my-secret1`, not `Winter42!` or what a generator made. */
function isWord(secret: string): boolean {
  const isPlain = /^(?:[a-z_;@.+-]*|[a-z_;@.+-]*(?:pass|word|pwd|secret?|test)\d{1,4})$/i.test(secret);
  return isPlain && (secret.length < 12 || strangenessOf(secret) < strange);
}

/** No white space, and nothing that ends a value in any notation. */
const quoted = '[^\\s"\'`\\\\‹›\\u001b]';
const bare = '[^\\s"\'`\\\\‹›<>,;|(){}[\\]\\u001b]';

/** The word before it, where a name asks about a password and is none: `forgotPassword`, `has_password`. */
const about =
  /^(?:no|has|is|min|max|show|hide|toggle|forg[eo]t(?:ten)?|lost|retype|repeat|reset|change|update|requires?|need|check|verify|validate|compare|hash(?:ed)?|(?:en)?crypt(?:ed)?|encoded?|decoded?|get|set|read|ask|prompt|enter|invalid|wrong|bad|with|use|generate|random|on|handle|by|allow|disable|enable|save|remember|type|input|label|field|hint|expired?|missing|weak)$/i;
/** What stands before `pass` and `pw` in names that are written as one word. */
const knownBefore =
  /^(?:my|db|pg|user|admin|root|ssh|ssl|store|key|trust|smtp|mail|ftp|ldap|bind|redis|mongo|mysql|sql|http|proxy|login|sudo|vault|wifi|app|auth|require)$/i;

/** What is a path, a file, a reference or an expression, not the value. */
const reference =
  /^(?:\.{0,2}|~)\/|:\/\/|^[A-Za-z]:\\|^(?:file|env|vault|secret|ssm|op|arn|urn|data|base64|ref|aws|gcp|sops|ENC)[:(]|^!(?:env|vault|secret|ref|sops)|^[\w.$]+\(.*\)[;,]?$|\.(?:txt|json|ya?ml|key|pem|env|conf|cfg|ini|[jt]sx?|py|go|rb|php|html?|md|xml|properties|sh|log|vue|svg|png)$/i;
const path = /^[&*!@]{0,2}[A-Za-z_$][\w$]*(?:(?:[?!]?\.|::|->)[A-Za-z_$][\w$]*)+[!?]?$/;
/** Paths, options, numbers and versions, and the names of constants. */
const noText = /^(?:[\w.-]+(?:\/[\w.-]+)*\/|--.*|0x[\dA-Fa-f]{1,16}|[~^>=<v]{0,2}\d+(?:\.\d+)+|[A-Z]+(?:_[A-Z]+)+)$/;
/** The first and the last part of what code calls a password: `options.pw`, `form.value`. */
const ofCode =
  /^[&*!@]{0,2}(?:config|cfg|conf|opts?|options|arg[sv]?|kwargs|props|params|req(?:uest)?|res(?:ponse)?|this|self|cls|settings|env|data|user|creds?|credentials|ctx|context|form|state|body|inputs?|event|[a-z]|auth|account|session|fields?|model|row|record|item|obj|result|secrets?|vars?|locals?|module|each|inventory)\W|\W(?:\w*pass\w*|\w*pwd?|\w*secret|value|text|string|token|key|get|[a-z]+[A-Z]\w*|strip|trim|name|length|data|id|[Pp]ass\w*|PASS\w*|\w*Pass\w*)\W*$/;
const ofClass = /^[A-Z]\w*\W/;
const operators = /&&|\|\||[=!<>]=|=>|->|::|\?\?|^[-+*/&]|[+*/]$/;
const identifier = /^[A-Za-z_$][\w$]*$/;
/** Words, or words with hyphens or dots between. */
const plain = /^[A-Za-z]+(?:[._-][A-Za-z]+)*$/;
const hashed =
  /^\{?(?:SHA|SSHA|MD5|CRYPT|PBKDF2|BCRYPT|ARGON2)|^\$(?:\d|2[abxy]|argon2|pbkdf2)[\w-]*\$|^[*][0-9A-F]{40}$|^(?:md5|scram-)/i;

/** Passwords that people choose, beside names that say so: they need not look random. */
export const passwordRules: readonly SecretRule[] = [
  {
    name: 'password',
    anchors: [
      'pass',
      'Pass',
      'PASS',
      'pwd',
      'Pwd',
      'PWD',
      ...[' ', '=', ':', '"', "'", '>', '%', ']', '\\'].flatMap((end) => [`pw${end}`, `PW${end}`, `Pw${end}`]),
    ],
    isInWord: true,
    layer: 3,
    pattern:
      '(?<n>(?:[Pp]ass|PASS)(?:[Ww]or[dt]|WORD|[Ww]d|WD|[Pp]hrase|PHRASE|[Cc]ode|CODE)?|[Pp]wd|PWD|[Pp]w|PW)(?:[_-]?(?:\\d{1,2}|prod|PROD|dev|DEV|staging|STAGING|old|new|[Cc]onfirm(?:ation)?))?' +
      `${separator}(?<s>(?<=["'\`]|%22)${quoted}{4,200}|(?<=>)[^\\s<>‹›]{4,200}(?=</)|(?<=(?:^|\\n)(?:export )?[A-Z][A-Z0-9_]{1,60}=)${quoted}{4,200}(?=\\s|$)|(?<![?&][\\w.%-]{0,80}=)${bare}{4,200}|(?:(?!&)${bare}){4,200})`,
    check: isPassword,
  },
];

/** Files in which passwords are fixtures, or are explained: tests, examples, documentation. */
const examples = [
  /(?:^|[/._-])(?:tests?|testdata|specs?|fixtures?|mocks?|stubs?|stories|e2e|cypress|examples?|samples?|demos?|docs?)(?:[/._-]|$)/i,
  /[a-z](?:Tests?|Specs?)\.\w+$/,
  /\.(?:md|mdx|rst|adoc)$/i,
];

/** Tells whether a file is of tests, examples or documentation by its path. */
export function isOfExamples(path: string): boolean {
  return examples.some((form) => form.test(path));
}

/** Tells whether a rule finds passwords that need not look random. */
export function isChosen(rule: string): boolean {
  return rule === 'password' || rule === 'command-password';
}

/** A value under a name, and what is around it. */
type Named = {
  secret: string;
  name: string;
  /** Between the name and the value. */
  between: string;
  /** In front of the word of the name, and behind the value. */
  before: string;
  behind: string;
  /** It has letters alone, or words that are joined. */
  isWord: boolean;
};

function isPassword(secret: string, match: RegExpExecArray, before: string): boolean {
  const word = match.groups?.['n'] ?? '';
  const lead = nameAtEnd(before);
  if (!isNameOfPassword(lead, word) || isMadeUp(secret) || isNoValue(secret)) return false;
  const core = secret.replace(/[.,:;!?]+$/, '');
  const isWord = plain.test(core) || /^\p{L}+$/u.test(core);
  if (isWord && (core.length < 6 || !/^[\x20-\x7e]+$/.test(core))) return false;
  const name = lead + word;
  const isOfUser = /(?:user|uid|login|host|auth|smtp|email)\w*["']?\s*[:=]/i.test(before.slice(-120));
  if (/^(?:pass|pw)$/i.test(name) && !isOfUser) return false;
  const end = match.index + match[0].length;
  const between = match[0].slice(word.length, match[0].length - secret.length);
  // What a variable is where it is not set: `${DB_PASSWORD:-value}`.
  if (/\$\{[\w.-]*$/.test(before)) return /[:=]$/.test(between) && !isMadeUp(secret.replace(/^-/, ''));
  // `key:value` without a blank is code.
  if (between.endsWith(':') || /#\{|^[.+,`]/.test(secret)) return false;
  const named = { secret, name, between, before, behind: match.input.slice(end, end + 80), isWord };
  return /(?:["'`]|%22)$/.test(between) ? isQuoted(named) : isBare(named);
}

/** `PWD` is the folder of a shell, `bypass` no password. */
function isNameOfPassword(lead: string, word: string): boolean {
  const [last = ''] = /(?:[A-Z]?[a-z]+|[A-Z]+)(?=[_.-]?$)/.exec(lead) ?? [];
  if (about.test(last) || /^(?:OLD)?PWD$/.test(lead + word)) return false;
  if (!/^(?:pass|pwd?)$/i.test(word) || lead === '' || !/[A-Za-z]$/.test(lead)) return true;
  return (/^P[a-z]/.test(word) && /[a-z]$/.test(lead)) || knownBefore.test(last);
}

/** Tells whether it refers to a value, or is a hash, a number or a row of one character. */
function isNoValue(secret: string): boolean {
  if (reference.test(secret) || hashed.test(secret) || noText.test(secret) || /[^\x20-\u024f]/.test(secret))
    return true;
  if (path.test(secret.replace(/[,;]$/, '')) && ofCode.test(secret)) return true;
  return /^[\d.,:]{1,6}$/.test(secret) || /^(.)\1*$/.test(secret) || '01234567890 09876543210'.includes(secret);
}

function isQuoted({ secret, between, before, behind, isWord }: Named): boolean {
  if (!/^(?:\\*["'`]|%22|$)/.test(behind)) return false;
  const isIdentifier = identifier.test(secret);
  // An argument that follows a name: also a list of names of fields.
  if (/,\s*\\*["'`]$/.test(between)) return !isWord && !isIdentifier && /["'`\\][\w.-]*$/.test(before);
  // Prose, and a table.
  if (/(?:\s(?:is|to)|\|)\s|^\s+\\*["'`]$/.test(between)) return !isWord && !isIdentifier;
  return !(isIdentifier && /[a-z][A-Z]/.test(secret) && !/\d/.test(secret));
}

function isBare({ secret, name, between, before, behind, isWord }: Named): boolean {
  if (operators.test(secret) || /^[([{‹]/.test(behind) || (secret.endsWith('-') && behind.startsWith('>')))
    return false;
  if (/[\r\n]/.test(between) && !isBeside(between)) return false;
  const isVariable = name === name.toUpperCase();
  const isTight = between.endsWith('=') && !/\s/.test(between);
  // A variable of an environment.
  if (isVariable && isTight) return true;
  const line = before.slice(before.lastIndexOf('\n') + 1);
  const isPath = path.test(secret);
  if (isPath && ofClass.test(secret) && !/\d$/.test(secret)) return false;
  const isMixed = /[a-z][A-Z]/.test(secret) && !/\d/.test(secret);
  if (between.endsWith('>')) return behind.startsWith('</') && !isMixed;
  // A parameter of a URL.
  if (isTight && (/[?&;]\s?[\w.%-]*$/.test(line) || /^[&;]\w/.test(behind))) return !isMixed;
  const isName = identifier.test(secret.replace(/[.,:;!?]+$/, '')) || isWord || isPath;
  // Prose, and a table.
  if (/(?:\s(?:is|to)|\|)\s/.test(between)) return !isName && /\d/.test(secret);
  // An option of a command.
  if (/--[\w.-]*$/.test(line)) return isTight || !isName;
  if (!isName) return true;
  if (isMixed || /^[A-Z][a-z]+[!?]?$/.test(secret)) return false;
  const isLast = /^(?:[ \t]*(?:[#;].*)?(?:[\r\n]|$)|\\[nr]|["'`])/.test(behind);
  if (isTight) return isLast || (/^\s+(?:[\w.-]+=|[-|&>])/.test(behind) && !isPath);
  return isLast && isSetting(name, between, before);
}

/** Tells whether a word that stands alone behind a name is its value: in a map, or beside other lines of that kind. */
function isSetting(name: string, between: string, before: string): boolean {
  const line = before.slice(before.lastIndexOf('\n') + 1);
  const lineStart = line.slice(0, line.length - (/[\w.-]*$/.exec(line)?.[0].length ?? 0));
  if (!/^(?:[\s>+-]|\\[nt]|\/\/|#)*(?:- |["'])?$/.test(lineStart)) return false;
  if (/(?::|value\W*)\s+$/i.test(between) || name === name.toUpperCase() || /[.-]/.test(name)) return true;
  const previous = /([^\n]*)\r?\n[^\n]*$/.exec(before)?.[1] ?? '';
  return /^(?:\[[\w .:"-]+\]|[\w.-]+\s*[=:]\s*[^\s(){};,]*|[#;!].*)$/.test(previous.trim());
}
