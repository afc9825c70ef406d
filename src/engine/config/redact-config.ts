import { isJsonObject } from '../../json.ts';
import type { Allowed, OwnRule } from '../../redaction/redactor.ts';

/** What a configuration says of secrets; `isOff` switches redaction off. */
export type ConfigRedact = { isOff: boolean; rules: OwnRule[]; allow: Allowed[] };

/** What a rule may be called. */
export const ruleName: RegExp = /^[a-z0-9]+(?:-[a-z0-9]+)*$/u;
/** What `allowHashOf` makes of a value. */
export const allowHash: RegExp = /^[0-9a-f]+:[0-9a-f]{64}$/u;

/** Reads `redact` of a configuration file, as its parser gives it; `fault` says what is wrong with it. */
export function readRedact(value: unknown): ConfigRedact | { fault: string } {
  const redact: ConfigRedact = { isOff: value === 'off', rules: [], allow: [] };
  if (redact.isOff) return redact;
  if (!isJsonObject(value)) return { fault: "redact must be 'off', or a map of 'rules' and 'allow'" };
  const { rules = [], allow = [], ...others } = value;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) return { fault: `unknown key '${unknown}' in redact; known are rules, allow` };
  if (!Array.isArray(rules) || !Array.isArray(allow)) return { fault: 'redact.rules and redact.allow must be lists' };
  for (const rule of rules) {
    if (!isTexts(rule, ['name', 'pattern'])) return { fault: 'a rule of redact.rules has a name and a pattern' };
    const { name = '', pattern = '' } = rule;
    if (!ruleName.test(name)) return { fault: `redact.rules: '${name}' is no name such as acme-token` };
    try {
      if (new RegExp(pattern, 'u').test('')) return { fault: `redact.rules: ${name} matches an empty text` };
    } catch (error) {
      return { fault: `redact.rules: ${name}: ${String(error)}` };
    }
    redact.rules.push({ name, pattern });
  }
  for (const one of allow) {
    if (isTexts(one, ['rule', 'path'])) redact.allow.push({ rule: one['rule'] ?? '', path: one['path'] ?? '' });
    else if (isTexts(one, ['hash']) && allowHash.test(one['hash'] ?? ''))
      redact.allow.push({ hash: one['hash'] ?? '' });
    else return { fault: "an entry of redact.allow has a rule and a path, or a hash '<salt>:<SHA-256>'" };
  }
  return redact;
}

/** What several files say together. Of the user's own and the machine's the last that says anything switches it off or on. */
export function joinRedacts(files: readonly ConfigRedact[], own: readonly ConfigRedact[]): ConfigRedact {
  return {
    isOff: own.at(-1)?.isOff === true,
    rules: files.flatMap(({ rules }) => rules),
    allow: files.flatMap(({ allow }) => allow),
  };
}

function isTexts(value: unknown, keys: readonly string[]): value is Record<string, string> {
  return (
    isJsonObject(value) &&
    Object.keys(value).length === keys.length &&
    keys.every((key) => typeof value[key] === 'string' && value[key] !== '')
  );
}
