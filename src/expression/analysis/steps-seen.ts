import {
  BRANCHES,
  childrenOf,
  filtersOf,
  JSONATA_FUNCTIONS,
  LITERALS,
  nodeAt,
  nodeList,
  PLAIN_OPERATORS,
  STEP_FUNCTIONS,
  type SyntaxNode,
  variableName,
} from './syntax-tree.ts';
import { orElse, isOfClass } from '../../or-else.ts';

export type StepsSeen = {
  /** How many of the newest steps are seen with all their members. */
  newest: number;
  /** Whether the list of steps is counted, whole or filtered by a role. */
  counts: boolean;
  visits: boolean;
  ends: boolean;
  /**
   * The members that are seen of all steps, and with them how many steps there are. `undefined` if steps before the newest
   * ones do not matter.
   */
  members: ReadonlySet<string> | undefined;
};

export const STEP_MEMBERS: readonly string[] =
  'role meta output text hash status agent usage startedAtMs completedAtMs'.split(' ');

export const NOTHING_SEEN: StepsSeen = { newest: 0, counts: false, visits: false, ends: false, members: undefined };
/** For an expression whose form is not recognised. */
export const ALL_SEEN: StepsSeen = { ...NOTHING_SEEN, members: new Set(STEP_MEMBERS) };

export function seenByBoth(one: StepsSeen, other: StepsSeen): StepsSeen {
  const members =
    one.members && other.members ? new Set([...one.members, ...other.members]) : (one.members ?? other.members);
  return {
    newest: Math.max(one.newest, other.newest),
    counts: one.counts || other.counts,
    visits: one.visits || other.visits,
    ends: one.ends || other.ends,
    members,
  };
}

/** For a reader that has the steps in their order: what is seen of roles is seen of the steps. */
export function withoutRoles({ newest, counts, visits, ends, members }: StepsSeen): StepsSeen {
  const listed = counts || visits || ends ? new Set([...(members ?? []), 'role', ...(ends ? ['meta'] : [])]) : members;
  return { ...NOTHING_SEEN, newest, members: listed };
}

/** An index from the end that goes back further is one into the whole list. */
const MAX_NEWEST = 20;

/**
 * Calls that depend only on their arguments, with how many they must have. With fewer, JSONata adds the context value, which
 * may be all bindings or a whole step.
 */
const CALLS: ReadonlyMap<string, readonly number[]> = new Map([
  ...calls([1], 'count exists boolean not sum max min average number string length abs floor ceil sqrt type'),
  ...calls([1], 'lowercase uppercase trim distinct'),
  ...calls([2], 'power contains substringBefore substringAfter append lookup'),
  ...calls([1, 2], 'round join'),
]);

function calls(counts: readonly number[], names: string): [string, readonly number[]][] {
  return names.split(' ').map((name) => [name, counts]);
}

/** Calls that tell only whether there are steps, or how many, when a list of steps is the argument. */
const COUNTING: ReadonlySet<string> = new Set(['count', 'exists', 'boolean', 'not']);

const OPERATORS: ReadonlySet<unknown> = new Set([...PLAIN_OPERATORS, '&', '..']);
/** Types of nodes whose result depends only on the nodes below them. */
const TRANSPARENT: ReadonlySet<string> = new Set(['condition', 'block', 'bind', 'filter']);
/** Marks of joins, grouping and the parent operator, which lead from a part of a step back to it. */
const ENTANGLING: readonly string[] = ['group', 'tuple', 'focus', 'index', 'ancestor', 'seekingParent'];

/**
 * Finds out what an expression can see of the steps, by the forms that rules mostly have: `$steps[-1].meta.ok`,
 * `$steps[role='x'].meta`, `$count($steps)`, `$last('x')`.
 *
 * An expression of another form sees everything. A member counts as seen when its name stands anywhere in the expression.
 */
export function stepsSeen(root: SyntaxNode): StepsSeen {
  const look = new Look();
  // A range error: it is nested more deeply than this can follow, but not than JSONata's own parser could.
  return orElse(() => (look.over(root) ? look.seen() : ALL_SEEN), ALL_SEEN, isOfClass(RangeError));
}

class Look {
  #newest = 0;
  #counts = false;
  #visits = false;
  #ends = false;
  #isListed = false;
  readonly #members = new Set<string>();

  seen(): StepsSeen {
    const members = this.#isListed ? this.#members : undefined;
    return { newest: this.#newest, counts: this.#counts, visits: this.#visits, ends: this.#ends, members };
  }

  /** @returns false if there is no telling what the expression sees */
  over(node: SyntaxNode): boolean {
    if (!isPlain(node)) return false;
    switch (node.type) {
      case 'variable':
        return this.#overVariable(node);
      case 'path':
        return this.#overPath(node);
      case 'name':
        return this.#overName(node);
      case 'function':
        return this.#overCall(node);
      case 'binary':
        return OPERATORS.has(node.value) && this.#below(node);
      case 'unary':
        return this.#below(node);
      default:
        return LITERALS.has(node.type) || node.type === 'regex' || (TRANSPARENT.has(node.type) && this.#below(node));
    }
  }

  #below(node: SyntaxNode): boolean {
    return childrenOf(node).every((child) => this.over(child));
  }

  #overVariable(node: SyntaxNode): boolean {
    const name = variableName(node);
    // `$` and `$$` may be all bindings; a function that is passed on, or bound to a name, may be called in any way.
    if (name === undefined || JSONATA_FUNCTIONS.has(name) || STEP_FUNCTIONS.has(name)) return false;
    // The branches of a block are of its step, which is the newest.
    if (name === BRANCHES) this.#newest = Math.max(this.#newest, 1);
    if (name !== 'steps') return this.#below(node);
    return this.#takeNewest(node);
  }

  /** Takes in the steps as a value of their own, which can be done for the newest alone. */
  #takeNewest(steps: SyntaxNode): boolean {
    const [index] = filtersOf(steps);
    const place = index?.type === 'number' ? Number(index.value) : 0;
    if (!Number.isInteger(place) || place >= 0 || -place > MAX_NEWEST) return false;
    this.#newest = Math.max(this.#newest, -place);
    return this.#below(steps);
  }

  #overPath(node: SyntaxNode): boolean {
    const [first, ...rest] = nodeList(node, 'steps');
    if (first === undefined || variableName(first) !== 'steps') return this.#below(node);
    if (!isPlain(first) || !rest.every(({ type }) => type === 'name')) return false;
    // What follows an index from the end is a member of a step that is seen as a whole.
    if (this.#takeNewest(first)) return rest.every((step) => isPlain(step) && this.#below(step));
    this.#isListed = true;
    return rest.length > 0 && this.#below(first) && rest.every((step) => this.over(step));
  }

  #overName(node: SyntaxNode): boolean {
    // The steps are a member of the input document too.
    if (typeof node.value !== 'string' || node.value === 'steps') return false;
    if (STEP_MEMBERS.includes(node.value)) this.#see(node.value);
    // They are a member of the input document too.
    if (node.value === BRANCHES) this.#newest = Math.max(this.#newest, 1);
    return this.#below(node);
  }

  #see(member: string): void {
    this.#isListed = true;
    this.#members.add(member);
  }

  #overCall(node: SyntaxNode): boolean {
    const procedure = nodeAt(node, 'procedure');
    const name = procedure && variableName(procedure);
    const given = nodeList(node, 'arguments');
    if (name === undefined || (procedure && childrenOf(procedure).length > 0)) return false;
    if (name === 'visits') this.#visits = true;
    else if (STEP_FUNCTIONS.has(name)) this.#ends = true;
    else if (!CALLS.get(name)?.includes(given.length)) return false;
    const [only] = given;
    const isCounting = COUNTING.has(name) && only !== undefined && isPlain(only) && variableName(only) === 'steps';
    if (!isCounting || this.#takeNewest(only)) return this.#below({ ...node, procedure: undefined });
    const rest = { ...node, procedure: undefined, arguments: undefined };
    if (filtersOf(only).every(isRoleFilter)) this.#counts = true;
    else {
      this.#isListed = true;
      if (!this.#below(only)) return false;
    }
    return this.#below(rest);
  }
}

/** A filter such as `[role='coder']`: how many steps pass it does not depend on their order. */
function isRoleFilter(node: SyntaxNode): boolean {
  if (node.type !== 'binary' || node.value !== '=' || !isPlain(node)) return false;
  const sides = [nodeAt(node, 'lhs'), nodeAt(node, 'rhs')];
  return sides.some(isRoleName) && sides.some((side) => side?.type === 'string' && isPlain(side));
}

function isRoleName(node: SyntaxNode | undefined): boolean {
  if (node === undefined || !isPlain(node) || filtersOf(node).length > 0) return false;
  if (node.type === 'name') return node.value === 'role';
  const [only, ...others] = node.type === 'path' ? nodeList(node, 'steps') : [];
  return others.length === 0 && only?.type === 'name' && isRoleName(only);
}

function isPlain(node: SyntaxNode): boolean {
  return ENTANGLING.every((mark) => node[mark] === undefined);
}
