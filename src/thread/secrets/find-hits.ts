import { pointer } from '../../cas/canonical.ts';
import { isJsonObject, type JsonValue } from '../../json.ts';
import { RedactionFailed, marks, type Hit, type Redactor } from '../../redaction/redactor.ts';
import { orElse, isOfClass } from '../../or-else.ts';

/** The place of a secret in a blob, a message or a list of names, and the rule that found it. Never the secret. */
export type SecretHit = {
  /** A JSON pointer into the payload of a node, or the number of a line. */
  at: string;
  rule: string;
};

/**
 * Finds the secrets in a text.
 * @param path its file, for rules that are allowed there
 * @param before what the file was before: a secret that was there already is not found
 */
export function hitsInText(
  redactor: Redactor,
  text: string,
  path?: string,
  before: readonly string[] = [],
): SecretHit[] {
  const all = searched(() => redactor.redactText(text, path).hits, unsearched);
  const known = new Set(all.length === 0 ? [] : before.flatMap((old) => secretsIn(redactor, old)));
  const hits = known.size === 0 ? all : all.filter((hit) => !known.has(secretOf(text, hit)));
  let line = 1;
  let passed = 0;
  return hits.map(({ rule, start }) => {
    for (let at = text.indexOf('\n', passed); at !== -1 && at < start; at = text.indexOf('\n', at + 1)) {
      line += 1;
      passed = at + 1;
    }
    return { at: `line ${line}`, rule };
  });
}

/** Finds the secrets in the strings and keys of a value. Places are pointers into the redacted value. */
export function hitsInValue(redactor: Redactor, value: JsonValue): SecretHit[] {
  const redacted = searched(() => redactor.redactValue(value), undefined);
  if (redacted === undefined) return unsearched.map(({ rule }) => ({ at: '', rule }));
  const found: SecretHit[] = [];
  if (redacted.hits > 0) compare(value, redacted.value, [], found);
  return found;
}

function secretsIn(redactor: Redactor, text: string): string[] {
  return searched(() => redactor.redactText(text).hits, []).map((hit) => secretOf(text, hit));
}

/** A secret with the rule that knows it: the same value under another name is another one. */
function secretOf(text: string, { rule, start, end }: Hit): string {
  return `${rule} ${text.slice(start, end)}`;
}

/** A text that cannot be scanned is reported like a secret. */
const unsearched = [{ rule: 'could-not-be-searched', start: 0, end: 0 }];

function searched<T>(search: () => T, otherwise: T): T {
  return orElse(search, otherwise, isOfClass(RedactionFailed));
}

function compare(before: JsonValue, after: JsonValue, path: (string | number)[], found: SecretHit[]): void {
  if (typeof before === 'string' && typeof after === 'string') addMarks(before, after, path, found);
  else if (Array.isArray(before) && Array.isArray(after)) {
    for (const [place, item] of before.entries()) compare(item, after[place] ?? null, [...path, place], found);
  } else if (isJsonObject(before) && isJsonObject(after)) {
    const entries = Object.entries(after);
    for (const [place, [key, item]] of Object.entries(before).entries()) {
      const [name, other] = entries[place] ?? [key, null];
      addMarks(key, name, [...path, name], found);
      compare(item, other, [...path, name], found);
    }
  }
}

function addMarks(before: string, after: string, path: (string | number)[], found: SecretHit[]): void {
  if (before === after) return;
  const old = new Set(before.match(marks));
  for (const [text, rule = ''] of after.matchAll(marks)) if (!old.has(text)) found.push({ at: pointer(path), rule });
}
