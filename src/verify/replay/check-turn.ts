import type { NodeSource } from '../../cas/node-source.ts';
import type { Decision } from '../../moderator/decision.ts';
import { isPerson, RULES_PACKAGE } from '../../schema/built-in/agent.ts';
import type { SuspendCause } from '../../schema/built-in/thread-suspend.ts';
import { payloadOf } from '../../schema/payload-of.ts';
import { questionOf } from '../../thread/context/agent-context.ts';
import type { CommitOf } from '../../thread/thread-state.ts';
import { findBlock, findRole, type WorkflowDefinition } from '../../workflow/definition.ts';
import { checkBlockTurn } from '../blocks/check-block.ts';
import { hasMark, isMarked } from '../is-marked.ts';

/** The decisions of the rules. Which limits were reached is not stored, so both decisions are possible. */
export type Again = {
  /** @param isForced a person chose the role: rules that time out say no other one */
  decide: (isForced?: boolean) => Promise<Decision>;
  decideAtLimit: () => Promise<Decision | undefined>;
};

type Turn = CommitOf<'step' | 'suspend'>;
/** A decision that gives a role the turn. */
type Giving = Extract<Decision, { kind: 'role' }>;
/** The thread of a turn. */
type Place = { definition: WorkflowDefinition; start: CommitOf<'start'>; task: string; nodes: NodeSource };

/** Checks what a turn says of the rule that gave it, of its agent, and of what a person or a block was asked. */
export async function checkTurn({ node }: Turn, again: Again, place: Place): Promise<string[]> {
  const { role } = node;
  const { definition, nodes } = place;
  if (findRole(definition, role) === undefined) return [`the workflow has no role '${role}'`];
  const giving = await findGiving(node, again);
  if (typeof giving === 'string') return [giving];
  const found = await nodes.find(node.agent);
  // A missing node has been reported.
  if (found === undefined) return [];
  const agent = payloadOf(found, 'agent');
  const isUndecided = isOfRule(node);
  const isBlock = findBlock(definition, role) !== undefined;
  const faults = isUndecided ? checkUnrun(node) : isBlock ? checkBlockTurn(node, agent) : [];
  if ('cause' in node) faults.push(...checkCause(agent.package, node));
  const asked = isUndecided
    ? place.task
    : isBlock
      ? (giving?.prompt ?? place.task)
      : isPerson(agent)
        ? questionOf({ ...place, start: place.start.node }, role, giving?.prompt)
        : undefined;
  if (asked !== undefined && !(await isAsked(node, asked, nodes))) {
    faults.push(`its prompt is not what the rules and the workflow ask of '${role}'`);
  }
  return faults;
}

/** Tells whether a suspension says that a rule was undecided. */
export function isOfRule(node: Turn['node']): boolean {
  return 'cause' in node && node.cause === 'rule';
}

/** Finds what a turn has that was not run. */
function checkUnrun({ usage, attempts, react, ...rest }: Turn['node']): string[] {
  const isRun = usage !== null || attempts.length > 0 || react !== null || ('content' in rest && rest.content !== null);
  return isRun ? ['it has a text, usage, attempts or a trace; a rule was undecided, and nothing ran'] : [];
}

/** The decision that gave a turn; `undefined` if a person gave it, and a fault if it was neither. */
async function findGiving(node: Turn['node'], again: Again): Promise<Giving | string | undefined> {
  const { role, rule } = node;
  if (rule === null && isOfRule(node)) return 'it does not name the rule that was undecided';
  const decision = await again.decide(rule === null);
  const isHere = (said: Decision | undefined): said is Giving => said?.kind === 'role' && said.role === role;
  if (rule === null) {
    // What the rules say is no choice of a person.
    return isHere(decision)
      ? `it says that a person gave the turn to '${role}'; by the rules ${describe(decision)}`
      : undefined;
  }
  if (isHere(decision) && decision.rule === rule) return decision;
  const atLimit = decision.kind === 'role' ? await again.decideAtLimit() : undefined;
  if (isHere(atLimit) && atLimit.rule === rule) return atLimit;
  const what = isOfRule(node) ? `was undecided, and '${role}' waits` : `gave the turn to '${role}'`;
  return `it says that rule ${rule + 1} ${what}; by the rules ${describe(decision)}`;
}

/** Tells whether a turn has a prompt, except for secrets that were redacted in it, or in what it was made of. */
async function isAsked({ prompt }: Turn['node'], wanted: string, nodes: NodeSource): Promise<boolean> {
  if (hasMark(wanted)) return true;
  const found = await nodes.find(prompt);
  return found === undefined || isMarked(wanted, payloadOf(found, 'content').text);
}

/** Causes that the engine itself finds in a turn of any agent. */
const causesOfEngine: readonly SuspendCause[] = [
  'agent',
  'invalid-reply',
  'limit',
  'timeout',
  'secret',
  'isolation',
  'interrupted',
];
/** The causes of a built-in agent's turns. */
const causesOf: Readonly<Record<string, readonly SuspendCause[]>> = {
  'builtin:acp': [...causesOfEngine, 'permission'],
  'builtin:block': ['agent', 'child', 'invalid-reply', 'limit', 'secret', 'isolation'],
  'builtin:command': causesOfEngine,
  'builtin:human': [...causesOfEngine, 'human'],
  'builtin:llm': causesOfEngine,
  [RULES_PACKAGE]: ['rule'],
  'builtin:scripted': causesOfEngine,
  'builtin:workflow': [...causesOfEngine, 'child'],
};

/** The causes for which an agent itself stops, and with which it can say when the turn can be taken again. */
const causesOfAgents: readonly SuspendCause[] = ['agent', 'human', 'permission', 'child', 'limit'];

/** Checks that an agent can have stopped for a cause, and can have said when to go on. */
function checkCause(agent: string, { cause, due }: Pick<CommitOf<'suspend'>['node'], 'cause' | 'due'>): string[] {
  const causes = Object.hasOwn(causesOf, agent) ? causesOf[agent] : [...causesOfEngine, ...causesOfAgents];
  if (causes?.includes(cause) === false) return [`its cause is '${cause}', for which ${agent} does not stop`];
  if (due === undefined || causesOfAgents.includes(cause)) return [];
  return [`it says when to go on, which no turn does that stops for '${cause}'`];
}

/** Says what the rules decide, for a fault. */
export function describe(decision: Decision): string {
  switch (decision.kind) {
    case 'role':
      return `it is the turn of '${decision.role}' (rule ${decision.rule + 1})`;
    case 'end':
      return `the thread ends with ${decision.returnCode} (rule ${decision.rule + 1})`;
    case 'undecided':
      return `the thread waits: ${decision.error.message}`;
    case 'failed':
      return `the thread fails: ${decision.error.message}`;
  }
}
