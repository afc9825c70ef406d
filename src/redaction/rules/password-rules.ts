import { isMadeUp } from './looks-random.ts';
import { isBeside, nameAtEnd, separator } from './rule.ts';
import type { SecretRule } from './rule.ts';

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
/** The name of a class or a package. */
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
