import { readFile } from 'node:fs/promises';

import type { AgentRequest } from '../contract.ts';
import type { GuardedPaths } from '../guarded-paths.ts';
import { coversDeed, fingerprintOf, resolveDeed } from './deed.ts';
import type { Deed } from './deed.ts';
import type { OwnTools } from './own-tools.ts';
import { answerTo, permissionReason, readPermissionWord } from './permission-answer.ts';
import { decidePermission } from './permission-policy.ts';
import type { PermissionAnswer, Permissions } from './permission-policy.ts';
import { nameDeed, showDeed } from './show-deed.ts';
import type { ToolCall } from './tool-call.ts';
import type { WorkingFolder } from './working-folder.ts';

/** One of the answers that an agent offers to its question (`PermissionOption`). */
export type PermissionOption = { optionId: string; kind: string; name: string };

/** What is answered: one of the options, or that there is no answer. */
export type PermissionOutcome = { outcome: 'cancelled' } | { outcome: 'selected'; optionId: string };

/** The agent was kept from what it asked uwf to do. */
export class Refused extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'Refused';
  }
}

/** What a gate needs of the turn that it stands in. */
export type GateTurn = {
  request: AgentRequest;
  permissions: Permissions | undefined;
  folder: WorkingFolder;
  guard: GuardedPaths;
  ownTools: OwnTools;
  /** Told when somebody has to answer and nobody is there; `reason` says what would let the turn go on. */
  onUnanswered(reason: string): void;
};

type Verdict = 'allow' | 'always' | 'deny' | 'unanswered';

/** A person's word about a deed. */
type Grant = { call: ToolCall; deed: Deed; isForAll: boolean };

/**
 * Answers an agent's questions for permission, and asks for itself where an agent has uwf do something without a question.
 *
 * The policy decides; where it says `ask`, a person. What a person allows is what they were shown and nothing else: uwf
 * does it once without asking again while that call is open, or as often as it comes where the answer was `always`. What
 * an agent calls a deed can make the answer stricter, and never wider: each kind that its arguments show it to be has to
 * be allowed, too.
 */
export class PermissionGate {
  readonly #turn: GateTurn;
  #grants: Grant[] = [];
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
  async answer(call: ToolCall, options: readonly PermissionOption[]): Promise<PermissionOutcome> {
    // What it is called with may be told anew while a person thinks.
    const asked = call.deed;
    const isOwn = this.#turn.ownTools.isOwn(
      call,
      options.map(({ name }) => name),
    );
    if (isOwn) return choose('allow', options);
    const deed = await resolveDeed(asked, this.#turn.folder);
    const said = this.#policy(deed);
    const verdict = said === 'ask' ? await this.#ask(deed) : this.#told(said, deed);
    if (verdict === 'unanswered') return { outcome: 'cancelled' };
    // What the policy allows it allows without a grant.
    if (said === 'ask' && verdict !== 'deny') this.#grants.push({ call, deed, isForAll: verdict === 'always' });
    return choose(verdict, options);
  }

  /**
   * Lets through what the agent has uwf do (`fs/*`, `terminal/create`), or not.
   * @throws {Refused}
   */
  async pass(wanted: Deed): Promise<void> {
    const { folder } = this.#turn;
    const deed = await resolveDeed(wanted, folder);
    const said = this.#policy(deed);
    if (said === 'allow' || (said === 'ask' && (await this.#isGranted(deed)))) return;
    const verdict = said === 'ask' ? await this.#ask(deed) : this.#told(said, deed);
    const what = nameDeed(deed, folder.path);
    if (verdict === 'deny') throw new Refused(`not permitted: ${what}`);
    if (verdict === 'unanswered') throw new Refused(`no person is there to permit it: ${what}`);
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
    const { permissions, folder, guard } = this.#turn;
    const answers = kinds.map((kind) => {
      const access = ['read', 'search', 'think'].includes(kind) ? 'read' : 'write';
      const isGuarded = (path: string): boolean => guard.verdictOn(path, access) !== 'free';
      return decidePermission(permissions, { kind, paths, isGuarded }, folder.path);
    });
    return (['deny', 'ask'] as const).find((answer) => answers.includes(answer)) ?? 'allow';
  }

  #told(said: 'allow' | 'deny', deed: Deed): 'allow' | 'deny' {
    if (said === 'deny') this.refuse(`denied by the configured permissions: ${this.#name(deed)}`);
    return said;
  }

  async #isGranted(deed: Deed): Promise<boolean> {
    if (this.#always.has(fingerprintOf(deed))) return true;
    const [path] = deed.changes.map((change) => change.path);
    const text = path === undefined ? undefined : await readFile(path, 'utf8').catch(() => undefined);
    this.#grants = this.#grants.filter(({ call }) => !call.isOver);
    const grant = this.#grants.find((candidate) => coversDeed(candidate.deed, deed, text));
    if (grant === undefined) return false;
    if (!grant.isForAll) this.#grants.splice(this.#grants.indexOf(grant), 1);
    return true;
  }

  async #ask(deed: Deed): Promise<Verdict> {
    const fingerprint = fingerprintOf(deed);
    if (this.#always.has(fingerprint)) return 'always';
    const verdict = this.#takeEarlier(fingerprint) ?? (await this.#askPerson(deed));
    if (verdict === 'always') this.#always.add(fingerprint);
    if (verdict === 'deny') this.refuse(`denied by the person asked: ${this.#name(deed)}`);
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

  #reason(deed: Deed, fingerprint: string): string {
    const { request, folder, guard } = this.#turn;
    const isPlain = (path: string): boolean => folder.holds(path) && guard.verdictOn(path, 'write') === 'free';
    const named = deed.paths.filter((path) => !isPlain(path));
    return permissionReason(request.role, showDeed(deed, folder.path), {
      kinds: deed.kinds,
      paths: named,
      fingerprint,
    });
  }

  #name(deed: Deed): string {
    return nameDeed(deed, this.#turn.folder.path);
  }
}

/** An agent whose options do not have the answer gets none. */
function choose(verdict: 'allow' | 'always' | 'deny', options: readonly PermissionOption[]): PermissionOutcome {
  const kinds = {
    allow: ['allow_once', 'allow_always'],
    always: ['allow_always', 'allow_once'],
    deny: ['reject_once', 'reject_always'],
  }[verdict];
  const option = kinds.flatMap((kind) => options.filter((candidate) => candidate.kind === kind))[0];
  return option === undefined ? { outcome: 'cancelled' } : { outcome: 'selected', optionId: option.optionId };
}
