import { isAbsolute, relative, resolve, sep } from 'node:path';

import { listSchema, NOT_EMPTY, objectSchema, enumSchema, textSchema } from '../../../schema/typed-schema.ts';
import type { SchemaOf } from '../../../schema/typed-schema.ts';
import { isWithin } from '../../../git/system/is-within.ts';

/** The answer to an agent's request. `ask`: a person decides. */
export type PermissionAnswer = 'allow' | 'ask' | 'deny';

/** One rule of a policy; the first that fits decides. */
export type PermissionRule = {
  /** The kinds of tools it is about, as the protocol names them; absent: all. */
  kinds?: string[];
  /**
   * Globs of paths it is about, relative to the working folder or absolute; absent: anything that stays in the working
   * folder, paths or none. Where several paths are named, a rule that allows must match all of them, another one any.
   */
  paths?: string[];
  answer: PermissionAnswer;
};

/**
 * What an agent may do: one word for everything, or rules that come before the default rules, and the answer if no rule fits
 * (default: `ask`).
 */
export type Permissions = PermissionAnswer | { rules?: PermissionRule[]; default?: PermissionAnswer };

/** Something that an agent wants to do. */
export type WantedAction = {
  /** `read`, `edit`, `delete`, `move`, `search`, `execute`, `think`, `fetch`, `switch_mode`, `other`. */
  kind: string;
  /** The files it names, absolute or relative to the working folder. */
  paths: readonly string[];
  /** Tells what belongs to git, to uwf or to hooks, of an absolute path; absent: nothing does. */
  isGuarded?: (path: string) => boolean;
};

/** The kinds of the protocol (`ToolKind`). */
const KINDS = ['read', 'edit', 'delete', 'move', 'search', 'execute', 'think', 'fetch', 'switch_mode', 'other'];

/**
 * The usual rules: to look, to think and to edit in the working folder is what a coding agent is
 * called for; to run programs, to reach out and to delete, a person is asked. What decides over later runs, git's own
 * folder and uwf's, is asked for as well, here by its usual names.
 */
const DEFAULT_RULES: readonly PermissionRule[] = [
  { kinds: ['read', 'search', 'think'], answer: 'allow' },
  { kinds: ['edit', 'move'], paths: ['.git', '.git/**', '**/.git/**', '.uwf/**'], answer: 'ask' },
  { kinds: ['edit'], answer: 'allow' },
];

const answers: readonly PermissionAnswer[] = ['allow', 'ask', 'deny'];

const ruleSchema = objectSchema(
  { answer: enumSchema(answers, "what becomes of it; 'ask': a person decides") },
  {
    kinds: listSchema(enumSchema(KINDS), 'the kinds of tools that it is about (all)', { minItems: 1 }),
    paths: listSchema(
      textSchema(undefined, NOT_EMPTY),
      'globs of the paths that it is about (what stays in the working folder)',
      { minItems: 1 },
    ),
  },
);

/** JSON Schema of {@link Permissions}. */
export const permissionsSchema: SchemaOf<Permissions> = {
  description: "what the agent may do: 'ask', 'allow', 'deny', or rules by kind of tool and path",
  anyOf: [
    enumSchema(answers),
    objectSchema(
      {},
      {
        rules: listSchema(ruleSchema, 'the first rule that fits decides'),
        default: enumSchema(answers, 'the answer where no rule fits (ask)'),
      },
    ),
  ],
};

/**
 * Decides by a policy. Pure: it looks at names, not at the disk.
 *
 * An action that names a path outside the working folder is denied, also under `allow`; only a rule
 * whose `paths` match it can say otherwise. What is guarded is asked for where the policy allows in general; only a rule
 * that names it lets it pass.
 * @param cwd the working folder, absolute
 */
export function decidePermission(
  permissions: Permissions | undefined,
  { kind, paths: named, isGuarded = () => false }: WantedAction,
  cwd: string,
): PermissionAnswer {
  const isWord = typeof permissions === 'string';
  const rules = isWord ? [] : [...(permissions?.rules ?? []), ...DEFAULT_RULES];
  const otherwise = isWord ? permissions : (permissions?.default ?? 'ask');
  const paths = named.map((path) => resolve(cwd, path));
  const rule = rules.find((candidate) => fits(candidate, { kind, paths, isGuarded }, cwd));
  if (rule !== undefined) return rule.answer;
  if (!paths.every((path) => isWithin(path, cwd))) return 'deny';
  return otherwise === 'allow' && paths.some(isGuarded) ? 'ask' : otherwise;
}

function fits(rule: PermissionRule, { kind, paths, isGuarded }: Required<WantedAction>, cwd: string): boolean {
  if (rule.kinds !== undefined && !rule.kinds.includes(kind)) return false;
  const { paths: patterns, answer: said } = rule;
  const outside = paths.filter((path) => !isWithin(path, cwd));
  if (patterns === undefined) return outside.length === 0 && !(said === 'allow' && paths.some(isGuarded));
  const isMeant = (path: string): boolean => {
    const isEnough = said !== 'allow' || !isGuarded(path);
    return patterns.some((pattern) => isMatch(path, pattern, cwd) && (isEnough || isGuarded(startOf(pattern, cwd))));
  };
  // A rule that allows must match every path; any other rule, one of them.
  if (said === 'allow') return paths.length > 0 && paths.every(isMeant);
  return paths.some(isMeant) && (said === 'deny' || outside.every(isMeant));
}

/** What a pattern names before its first wildcard: a pattern that only happens to match what is guarded does not mean it. */
function startOf(pattern: string, cwd: string): string {
  const names = pattern.split('/');
  const wild = names.findIndex((name) => /[*?]/u.test(name));
  const plain = names.slice(0, wild === -1 ? names.length : wild).join('/');
  return resolve(cwd, plain || (pattern.startsWith('/') ? '/' : '.'));
}

function isMatch(path: string, pattern: string, cwd: string): boolean {
  if (isAbsolute(pattern)) return matchesGlob(path, pattern);
  return isWithin(path, cwd) && matchesGlob(relative(cwd, path).split(sep).join('/'), pattern);
}

/**
 * Tells whether a path matches a pattern: `*` and `?` within one name, `**` across folders, anything else is itself.
 *
 * `src/**` matches `src` and all below; names that begin with a dot are names like any other.
 * @param path with `/` between its names
 */
export function matchesGlob(path: string, pattern: string): boolean {
  return new RegExp(`^${toRegExp(pattern)}$`, 'su').test(path);
}

function toRegExp(pattern: string): string {
  return pattern
    .split(/(\/\*\*(?=\/|$)|^\*\*\/|\*+|\?)/u)
    .map((part) => {
      if (part === '/**') return '(?:/.*)?';
      if (part === '**/') return '(?:.*/)?';
      if (part === '*') return '[^/]*';
      if (part === '?') return '[^/]';
      return part.startsWith('**') ? '.*' : part.replaceAll(/[\\^$.*+?()[\]{}|/]/gu, '\\$&');
    })
    .join('');
}
