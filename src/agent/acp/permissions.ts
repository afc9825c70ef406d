import { isAbsolute, relative, resolve, sep } from 'node:path';
import type { PermissionOption, RequestPermissionOutcome } from '@agentclientprotocol/sdk/unstable';
import { isWithin } from '../../git/system/files.ts';
import { isJsonObject, type JsonObject } from '../../json.ts';
import {
  enumSchema,
  listSchema,
  NOT_EMPTY,
  objectSchema,
  type SchemaOf,
  textSchema,
} from '../../schema/typed-schema.ts';
import type { AgentRequest } from '../contract.ts';
import type { WorkingFolder } from '../files/working-folder.ts';
import { readAsked } from '../mcp/mcp-record.ts';
import { type Deed, fingerprintOf, nameDeed, resolveDeed, showDeed, type ToolCall } from './tool-call.ts';

type GateTurn = {
  request: AgentRequest;
  folder: WorkingFolder;
  permissions: Permissions | undefined;
  /** Whether the agent was given uwf's own server. */
  hasOwnTools: boolean;
  /** Called when a person has to answer and none is there. */
  stop(): void;
};

type Verdict = PermissionWord | 'unanswered';

/**
 * Answers an agent's questions for permission.
 *
 * The policy decides; where it says `ask`, a person. What a person allows is what they were shown and nothing else, as often
 * as it comes where the answer was `always`. What an agent calls a deed can make the answer stricter, and never wider: each
 * kind that its arguments show it to be has to be allowed, too.
 */
export class PermissionGate {
  /** Why the turn has to wait for a person, and what would let it go on; undefined while it need not. */
  unanswered: string | undefined;
  /** What a person denied last; undefined again once the agent has said something. */
  deniedLast: string | undefined;
  readonly #turn: GateTurn;
  readonly #ownTools: OwnTools;
  /** What a person allows for the whole turn. */
  readonly #always = new Set<string>();
  /** The answer to the question with which the turn before stopped, until it was used. */
  #earlier: ReturnType<typeof answerTo>;
  /** Questions are asked one after the other. */
  #lastQuestion: Promise<unknown> = Promise.resolve();

  constructor(turn: GateTurn) {
    this.#turn = turn;
    this.#ownTools = new OwnTools(turn.hasOwnTools ? turn.request.stepDir : undefined);
    this.#earlier = answerTo(turn.request);
  }

  /** Answers `session/request_permission`. */
  async answer(call: ToolCall, options: readonly PermissionOption[]): Promise<RequestPermissionOutcome> {
    // The agent may report other arguments while the person decides.
    const asked = call.deed;
    const names = options.map(({ name }) => name);
    if (this.#ownTools.isOwn(call, names)) return choose('allow', options);
    const deed = await resolveDeed(asked, this.#turn.folder);
    const said = this.#policy(deed);
    const verdict = said === 'ask' ? await this.#ask(deed) : this.#told(said, deed);
    if (verdict === 'unanswered') return { outcome: 'cancelled' };
    return choose(verdict, options);
  }

  #refuse(what: string): void {
    this.#turn.request.emit({ kind: 'refusal', text: what });
  }

  /** Tells at the end of a turn of the calls that were said to be of uwf's server and were not. */
  finish(): void {
    for (const tool of this.#ownTools.findLies()) {
      this.#refuse(`a call was said to be of uwf's tool ${tool}, and uwf's server was not asked`);
    }
  }

  /** The strictest of what the policy says to each kind of deed that this is. */
  #policy({ kinds, paths }: Deed): PermissionAnswer {
    const { permissions, folder } = this.#turn;
    const answers = kinds.map((kind) => {
      const access = ['read', 'search', 'think'].includes(kind) ? 'read' : 'write';
      const isGuarded = (path: string): boolean => folder.guard.guardOf(path, access) !== 'free';
      return decidePermission(permissions, { kind, paths, isGuarded }, folder.path);
    });
    return (['deny', 'ask'] as const).find((answer) => answers.includes(answer)) ?? 'allow';
  }

  #told(said: 'allow' | 'deny', deed: Deed): 'allow' | 'deny' {
    if (said === 'deny') this.#refuse(`denied by the configured permissions: ${this.#name(deed)}`);
    return said;
  }

  async #ask(deed: Deed): Promise<Verdict> {
    const fingerprint = fingerprintOf(deed);
    if (this.#always.has(fingerprint)) return 'always';
    const verdict = this.#takeEarlier(fingerprint) ?? (await this.#askPerson(deed));
    if (verdict === 'always') this.#always.add(fingerprint);
    if (verdict === 'deny') {
      this.#refuse(`denied by the person asked: ${this.#name(deed)}`);
      this.deniedLast = this.#name(deed);
    }
    if (verdict === 'unanswered') {
      this.#refuse(`no person was there to permit it: ${this.#name(deed)}`);
      this.unanswered ??= this.#reason(deed, fingerprint);
      this.#turn.stop();
    }
    return verdict;
  }

  #takeEarlier(fingerprint: string): Verdict | undefined {
    if (this.#earlier?.fingerprint !== fingerprint) return undefined;
    const { word } = this.#earlier;
    this.#earlier = undefined;
    return word;
  }

  async #askPerson(deed: Deed): Promise<Verdict> {
    const { request, folder } = this.#turn;
    const { askPerson, role } = request;
    if (askPerson === undefined) return 'unanswered';
    const question = `${role} wants to: ${showDeed(deed, folder.path)}\nallow it? [y]es, [a]lways in this turn, [n]o `;
    const answer = this.#lastQuestion.then(() => askPerson(question, { keys: 'yan', signal: request.signal }));
    this.#lastQuestion = answer.catch(() => undefined);
    return readPermissionWord(await answer) ?? 'deny';
  }

  /**
   * The reason with which a turn waits for a permission: what would be done, how to answer, and the rule that would allow it.
   * Its last word names the deed, so that an answer is about that one and no other.
   */
  #reason(deed: Deed, fingerprint: string): string {
    const { request, folder } = this.#turn;
    const isPlain = (path: string): boolean =>
      isWithin(path, folder.path) && folder.guard.guardOf(path, 'write') === 'free';
    const named = deed.paths.filter((path) => !isPlain(path));
    const where = named.length > 0 ? `, paths: ${JSON.stringify(named)}` : '';
    const rule = `{ kinds: [${deed.kinds.join(', ')}]${where}, answer: allow }`;
    const shown = showDeed(deed, folder.path);
    return (
      `${request.role} asks for a permission: ${shown}${shown.includes('\n') ? '\n' : '; '}` +
      `answer it with yes or no, or by resuming it at a terminal, or allow it in the agent's config, ` +
      `permissions: { rules: [${rule}] }, and resume; permission ${fingerprint}`
    );
  }

  #name(deed: Deed): string {
    return nameDeed(deed, this.#turn.folder.path);
  }
}

/** Chooses the option of the verdict. If the agent offers none, the outcome is `cancelled`. */
function choose(verdict: PermissionWord, options: readonly PermissionOption[]): RequestPermissionOutcome {
  const kinds = {
    allow: ['allow_once', 'allow_always'],
    always: ['allow_always', 'allow_once'],
    deny: ['reject_once', 'reject_always'],
  }[verdict];
  const option = kinds.flatMap((kind) => options.filter((candidate) => candidate.kind === kind))[0];
  return option === undefined ? { outcome: 'cancelled' } : { outcome: 'selected', optionId: option.optionId };
}

/** What a person said to a question for permission. */
type PermissionWord = 'allow' | 'always' | 'deny';

/** Reads `yes`, `always`, `no` and their first letters; undefined for anything else. */
function readPermissionWord(text: string): PermissionWord | undefined {
  const word = text.trim().toLowerCase();
  if (/^a(?:lways)?$/u.test(word)) return 'always';
  if (/^y(?:es)?$/u.test(word)) return 'allow';
  return /^no?$/u.test(word) ? 'deny' : undefined;
}

/** What a person has just answered to the question for permission with which the role stopped, and about which deed. */
function answerTo({
  answer,
  question,
  attempt,
}: AgentRequest): { fingerprint: string; word: PermissionWord } | undefined {
  // The answer counts in the first attempt only, also if that attempt failed.
  if (attempt > 0) return undefined;
  const [, fingerprint] = /; permission ([0-9a-f]{16})$/u.exec(question ?? '') ?? [];
  const word = answer === undefined ? undefined : readPermissionWord(answer);
  return fingerprint === undefined || word === undefined ? undefined : { fingerprint, word };
}

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

/** Kinds under which no agent calls a tool of a server's. */
const OTHER_WORK = new Set(['edit', 'delete', 'move', 'execute', 'switch_mode']);

/**
 * Tells which tool calls are of uwf's own MCP server. These need no permission: the server keeps to what the thread may
 * read by itself.
 *
 * That a call is one of them is said by the agent before the server hears of it. So it is believed only of an agent that
 * has asked the server for its tools, for a tool that it has, with arguments of that tool; and no more once a call was
 * done of which the server was not asked. A call that is believed to be the server's permits nothing else.
 */
class OwnTools {
  readonly #stepDir: string | undefined;
  /** Calls that were believed to be of the server: the tool that each named, and how much the server had heard by then. */
  readonly #believed = new Map<ToolCall, { tool: string; from: number }>();

  /** @param stepDir the folder of the step; undefined where the agent was not given the server */
  constructor(stepDir: string | undefined) {
    this.#stepDir = stepDir;
  }

  /**
   * Tells whether a call is to be taken for one of the server's.
   * @param options what the agent calls the answers to its question
   */
  isOwn(call: ToolCall, options: readonly string[] = []): boolean {
    const tool = this.#toolOf(call, options);
    if (tool === undefined || this.findLies().length > 0) return false;
    this.#believed.set(call, { tool, from: this.#called().length });
    return true;
  }

  /** The tools that the agent said to have called, and of which the server heard nothing. */
  findLies(): string[] {
    const heard = this.#called();
    const taken = new Set<number>();
    const done = [...this.#believed].filter(([call]) => call.status === 'completed').map(([, claim]) => claim);
    const lies = done.filter(({ tool, from }) => {
      const at = heard.findIndex((name, index) => index >= from && name === tool && !taken.has(index));
      taken.add(at);
      return at === -1;
    });
    return lies.map(({ tool }) => tool);
  }

  #toolOf(call: ToolCall, options: readonly string[]): string | undefined {
    const { rawInput: input } = call.fields;
    const given = isJsonObject(input) ? input : {};
    // Codex' bridge says `execute` of every call of a server's tool, which it names in the arguments and nothing beside it.
    const isCall = Object.keys(given).toSorted().join(' ') === 'arguments server tool';
    const isOther = OTHER_WORK.has(call.kind) && !(isCall && call.kind === 'execute');
    if (isOther || this.#stepDir === undefined) return undefined;
    const { server, tool, arguments: inner } = isJsonObject(given['invocation']) ? given['invocation'] : given;
    const isWrapped = typeof server === 'string' && typeof tool === 'string';
    const names = [...call.titles, call.name, ...(isWrapped ? [`${server} ${tool}`] : [])];
    const args = isWrapped && isJsonObject(inner) ? inner : given;
    const tools = readAsked(this.#stepDir).flatMap((asked) => ('listed' in asked ? asked.listed : []));
    // Qwen Code 0.15 asks under no name but that of its answers: `Always Allow in project: report_result`.
    const isNameless = call.name === call.kind && call.titles.every((title) => title === JSON.stringify(input));
    const found =
      tools.find(({ name }) => names.some((text) => hasWord(text, 'uwf') && hasWord(text, name))) ??
      (isNameless ? tools.find(({ name }) => options.some((text) => text.endsWith(`: ${name}`))) : undefined);
    if (found === undefined || (input !== undefined && !isJsonObject(input))) return undefined;
    const known = propertiesOf(found.inputSchema);
    return known === undefined || Object.keys(args).every((name) => known.has(name)) ? found.name : undefined;
  }

  #called(): string[] {
    const asked = this.#stepDir === undefined ? [] : readAsked(this.#stepDir);
    return asked.flatMap((entry) => ('called' in entry ? [entry.called] : []));
  }
}

/** `mcp__uwf__thread_list`, `uwf_thread_list` and `thread_list (uwf MCP Server)` have the words `uwf` and `thread_list`. */
function hasWord(text: string, word: string): boolean {
  return new RegExp(`(?:^|[^a-z0-9])${word}(?:$|[^a-z0-9])`, 'iu').test(text);
}

/** The names of arguments; `report_result` takes its result with and without one around it. Undefined: any. */
function propertiesOf(schema: JsonObject): Set<string> | undefined {
  const { properties } = schema;
  if (!isJsonObject(properties)) return undefined;
  const { result } = properties;
  const inner = isJsonObject(result) ? propertiesOf(result) : new Set<string>();
  return inner && new Set([...Object.keys(properties), ...inner]);
}
