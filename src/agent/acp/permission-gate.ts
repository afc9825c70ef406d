import { relative } from 'node:path';

import type { AgentRequest } from '../contract.ts';
import { cutText } from './cut-text.ts';
import { decidePermission, isWithin } from './permission-policy.ts';
import type { Permissions, WantedAction } from './permission-policy.ts';
import type { ToolCall } from './tool-call.ts';
import type { WorkingFolder } from './working-folder.ts';

/** One of the answers that an agent offers to its question (`PermissionOption`). */
export type PermissionOption = { optionId: string; kind: string };

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
  /** Told when somebody has to answer and nobody is there; `reason` says what would let the turn go on. */
  onUnanswered(reason: string): void;
};

type Verdict = 'allow' | 'always' | 'deny' | 'unanswered';

/**
 * Answers an agent's questions for permission, and asks for itself where an agent has uwf do something without a question.
 *
 * The policy decides; where it says `ask`, the person at the terminal. Nothing that an agent or its model writes can
 * stand for that answer.
 */
export class PermissionGate {
  readonly #turn: GateTurn;
  /** Tool calls that were allowed, until they are over: what they have uwf do is not asked about again. */
  readonly #allowed = new Set<ToolCall>();
  /** Questions are asked one after the other. */
  #lastQuestion: Promise<unknown> = Promise.resolve();

  constructor(turn: GateTurn) {
    this.#turn = turn;
  }

  /** Answers `session/request_permission`. */
  async answer(call: ToolCall, options: readonly PermissionOption[]): Promise<PermissionOutcome> {
    const verdict = isOwnTool(call) ? 'allow' : await this.#decide(call.action, call.title);
    if (verdict === 'unanswered') return { outcome: 'cancelled' };
    if (verdict !== 'deny') this.#allowed.add(call);
    return choose(verdict, options);
  }

  /**
   * Lets through what the agent has uwf do (`fs/*`, `terminal/create`), or not.
   * @param what in words: `write src/main.ts`
   * @throws {Refused}
   */
  async pass(action: WantedAction, what: string): Promise<void> {
    if (await this.#isAllowed(action)) return;
    const verdict = await this.#decide(action, what);
    if (verdict === 'deny') throw new Refused(`not permitted: ${what}`);
    if (verdict === 'unanswered') throw new Refused(`nobody is there to permit it: ${what}`);
  }

  /** Tells that the agent was kept from something. */
  refuse(what: string): void {
    this.#turn.request.emit({ kind: 'refusal', text: what });
  }

  async #isAllowed(action: WantedAction): Promise<boolean> {
    const wanted = await this.#real(action.paths);
    for (const call of this.#allowed) {
      if (call.isOver) {
        this.#allowed.delete(call);
        continue;
      }
      const named = await this.#real(call.paths);
      const covers = named.length === 0 || wanted.every((path) => named.includes(path));
      if (covers && (call.kind === action.kind || call.kind === 'other')) return true;
    }
    return false;
  }

  async #decide(action: WantedAction, what: string): Promise<Verdict> {
    const { permissions, folder } = this.#turn;
    const paths = await this.#real(action.paths);
    const said = decidePermission(permissions, { kind: action.kind, paths }, folder.path);
    if (said === 'allow') return 'allow';
    const about = describe(action.kind, what, paths, folder.path);
    if (said === 'deny') {
      this.refuse(`denied by the configured permissions: ${about}`);
      return 'deny';
    }
    const verdict = await this.#ask(about);
    if (verdict === 'deny') this.refuse(`denied by the person asked: ${about}`);
    if (verdict === 'unanswered') {
      this.refuse(`nobody was there to permit it: ${about}`);
      this.#turn.onUnanswered(this.#reason(action, about, paths));
    }
    return verdict;
  }

  async #ask(about: string): Promise<Verdict> {
    const { request } = this.#turn;
    const { askPerson, role } = request;
    if (askPerson === undefined) return 'unanswered';
    const question = `${role} wants to: ${about}\nallow it? [y]es, [a]lways, [N]o `;
    const answer = this.#lastQuestion.then(() => askPerson(question));
    this.#lastQuestion = answer.catch(() => undefined);
    const word = (await answer).trim().toLowerCase();
    if (/^a(?:lways)?$/u.test(word)) return 'always';
    return /^y(?:es)?$/u.test(word) ? 'allow' : 'deny';
  }

  #reason(action: WantedAction, about: string, paths: readonly string[]): string {
    const { request, folder } = this.#turn;
    const { role } = request;
    const outside = paths.filter((path) => !isWithin(path, folder.path));
    const rule = `{ kinds: [${action.kind}]${outside.length > 0 ? `, paths: [${outside.join(', ')}]` : ''}, answer: allow }`;
    return (
      `${role} asks for a permission: ${about}; answer by resuming it at a terminal, ` +
      `or allow it in the agent's config, permissions: { rules: [${rule}] }, and resume`
    );
  }

  #real(paths: readonly string[]): Promise<string[]> {
    // A path that cannot be looked at (a loop of links, a name too long) is judged by its name.
    return Promise.all(paths.map((path) => this.#turn.folder.resolve(path).catch(() => path)));
  }
}

function describe(kind: string, what: string, paths: readonly string[], cwd: string): string {
  const shown = paths.map((path) => (isWithin(path, cwd) ? relative(cwd, path) || '.' : path));
  const unsaid = shown.filter((path) => !what.includes(path));
  // A title is the agent's own text: on one line it cannot pass for a line of uwf's.
  const title = cutText(what.replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' '), 300);
  return `${title} (${[kind, ...unsaid].join(', ')})`;
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

/** uwf's own MCP server, under the names that agents give its tools. */
function isOwnTool(call: ToolCall): boolean {
  return call.kind === 'other' && /^(?:mcp__)?uwf(?:__|_|-|\/|:|\.)[a-z_]+$/u.test(call.name);
}
