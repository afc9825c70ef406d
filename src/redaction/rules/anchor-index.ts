import { endsInEscape, type SecretRule } from './rule.ts';

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
 *
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
