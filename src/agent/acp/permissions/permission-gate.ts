import { relative } from 'node:path';
import type { PermissionOption, RequestPermissionOutcome } from '@agentclientprotocol/sdk/unstable';
import { isWithin } from '../../../git/system/is-within.ts';
import type { AgentRequest } from '../../contract.ts';
import type { WorkingFolder } from '../../files/working-folder.ts';
import { cutText } from '../../processes/program-output.ts';
import type { OwnTools } from '../own-tools.ts';
import type { ToolCall } from '../update-reader.ts';
import { type Deed, fingerprintOf, resolveDeed, shellLineOf } from './deed.ts';
import { decidePermission, type PermissionAnswer, type Permissions } from './permission-policy.ts';

/** What a gate needs of the turn that it stands in. */
type GateTurn = {
  request: AgentRequest;
  permissions: Permissions | undefined;
  folder: WorkingFolder;
  ownTools: OwnTools;
  /** Called when a person has to answer and none is there; `reason` says what would let the turn go on. */
  onUnanswered(reason: string): void;
  /** Told when a person has said no; `what` names what the agent wanted to do. */
  onDenied(what: string): void;
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
  readonly #turn: GateTurn;
  /** What a person allows for the whole turn. */
  readonly #always = new Set<string>();
  /** The answer to the question with which the turn before stopped, until it was used. */
  #earlier: ReturnType<typeof answerTo>;
  /** Questions are asked one after the other. */
  #lastQuestion: Promise<unknown> = Promise.resolve();

  constructor(turn: GateTurn) {
    this.#turn = turn;
    this.#earlier = answerTo(turn.request);
  }

  /** Answers `session/request_permission`. */
  async answer(call: ToolCall, options: readonly PermissionOption[]): Promise<RequestPermissionOutcome> {
    // The agent may report other arguments while the person decides.
    const asked = call.deed;
    const names = options.map(({ name }) => name);
    if (this.#turn.ownTools.isOwn(call, names)) return choose('allow', options);
    const deed = await resolveDeed(asked, this.#turn.folder);
    const said = this.#policy(deed);
    const verdict = said === 'ask' ? await this.#ask(deed) : this.#told(said, deed);
    if (verdict === 'unanswered') return { outcome: 'cancelled' };
    return choose(verdict, options);
  }

  /** Tells that the agent was kept from something, or has lied. */
  refuse(what: string): void {
    this.#turn.request.emit({ kind: 'refusal', text: what });
  }

  /** Tells at the end of a turn of the calls that were said to be of uwf's server and were not. */
  finish(): void {
    for (const tool of this.#turn.ownTools.findLies()) {
      this.refuse(`a call was said to be of uwf's tool ${tool}, and uwf's server was not asked`);
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
    if (said === 'deny') this.refuse(`denied by the configured permissions: ${this.#name(deed)}`);
    return said;
  }

  async #ask(deed: Deed): Promise<Verdict> {
    const fingerprint = fingerprintOf(deed);
    if (this.#always.has(fingerprint)) return 'always';
    const verdict = this.#takeEarlier(fingerprint) ?? (await this.#askPerson(deed));
    if (verdict === 'always') this.#always.add(fingerprint);
    if (verdict === 'deny') {
      this.refuse(`denied by the person asked: ${this.#name(deed)}`);
      this.#turn.onDenied(this.#name(deed));
    }
    if (verdict === 'unanswered') {
      this.refuse(`no person was there to permit it: ${this.#name(deed)}`);
      this.#turn.onUnanswered(this.#reason(deed, fingerprint));
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

/** What is shown of a line, and how many lines of a text: its beginning and its end. */
const MAX_LINE = 2000;
const MAX_LINES = { head: 40, tail: 15 };
/** Characters that a terminal obeys, or that hide or turn around what is beside them; newline and tab are none. */
const TRICKS = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/**
 * Says on one line what would be done, by its arguments: `run npm publish (execute)`. No control character of an agent's
 * is in it.
 */
function nameDeed(deed: Deed, cwd: string): string {
  const { kinds, command, changes, paths, title, more } = deed;
  const names = paths.filter((path) => path !== cwd).map((path) => shownPath(path, cwd));
  const what =
    command !== undefined
      ? `run ${shellLineOf(command)}`
      : changes.length > 0
        ? `write ${[...new Set(changes.map(({ path }) => shownPath(path, cwd)))].join(', ')}`
        : names.length > 0
          ? `${kinds[0]} ${names.join(', ')}`
          : Object.keys(more).length > 0
            ? `use a tool with ${JSON.stringify(more)}`
            : `do what it only calls ${JSON.stringify(title ?? '')}`;
  const unsaid = names.filter((name) => !what.includes(name));
  return `${onOneLine(what)} (${onOneLine([...kinds, ...unsaid].join(', '))})`;
}

/** Says all of what would be done: {@link nameDeed}, and below it, indented, its arguments and the agent's own words. */
function showDeed(deed: Deed, cwd: string): string {
  const { command, changes, more, title, words } = deed;
  const name = nameDeed(deed, cwd);
  const line = command === undefined ? '' : shellLineOf(command);
  const parts = [
    ...(line.split('\n').length > 2 ? [onLines(line)] : []),
    ...(command?.cwd === undefined || command.cwd === cwd ? [] : [`in ${onOneLine(shownPath(command.cwd, cwd))}`]),
    ...Object.entries(command?.env ?? {}).map(([variable, value]) => `with ${onOneLine(`${variable}=${value}`)}`),
    ...changes.flatMap(({ path, oldText, newText }) => [
      ...(changes.length > 1 ? [`in ${onOneLine(shownPath(path, cwd))}`] : []),
      ...(oldText === undefined || oldText === '' ? [] : [onLines(oldText, '- ')]),
      onLines(newText, '+ '),
    ]),
    ...Object.entries(more).map(([key, value]) => onOneLine(`${key}: ${JSON.stringify(value)}`)),
    ...(title === undefined || title === line || name.includes(title)
      ? []
      : [`it calls this ${JSON.stringify(onOneLine(title, 300))}`]),
    ...(words === '' || words === line ? [] : [`it says ${JSON.stringify(onOneLine(words, 1000))}`]),
  ];
  const lines = keepEnds(parts.flatMap((part) => part.split('\n')));
  return [name, ...lines.map((text) => `  ${text}`)].join('\n');
}

function shownPath(path: string, cwd: string): string {
  return isWithin(path, cwd) ? relative(cwd, path) || '.' : path;
}

/** What a terminal would obey, and what hides in a text, is written out. */
function visible(text: string): string {
  return text.replaceAll(TRICKS, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

function onOneLine(text: string, maxCharacters = MAX_LINE): string {
  const line = visible(text.replaceAll(/\r?\n/gu, ' ⏎ ').replaceAll('\t', ' '));
  if (line.length <= maxCharacters) return line;
  // What is put in front to hide the end of it does not.
  const tail = Math.floor(maxCharacters / 4);
  const [start, end] = [cutText(line, maxCharacters - tail), line.slice(-tail).replace(/^[\uDC00-\uDFFF]/u, '')];
  return `${start} … (${line.length - maxCharacters} more characters) … ${end}`;
}

function onLines(text: string, mark = ''): string {
  const lines = text.replace(/\n$/u, '').split(/\r?\n/u);
  return keepEnds(lines.map((line) => mark + onOneLine(line, 500))).join('\n');
}

function keepEnds(lines: readonly string[]): readonly string[] {
  const { head, tail } = MAX_LINES;
  const left = lines.length - head - tail;
  return left <= 0 ? lines : [...lines.slice(0, head), `… (${left} more lines)`, ...lines.slice(-tail)];
}
