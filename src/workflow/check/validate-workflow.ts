import { basename, dirname, extname } from 'node:path';
import { assertJsonValue, canonicalJson, NotJson } from '../../cas/canonical.ts';
import { literalResults } from '../../expression/analysis/inspect-expression.ts';
import { JSONATA_FUNCTIONS } from '../../expression/analysis/syntax-tree.ts';
import { ExpressionSyntaxError } from '../../expression/expression-errors.ts';
import type { JsonObject, JsonValue } from '../../json.ts';
import { inPlaceOf } from '../../or-else.ts';
import { didYouMean } from '../../text/nearest-name.ts';
import {
  type BlockDefinition,
  CONFLICT,
  END,
  FAILED,
  findBlock,
  isExpression,
  isIsolated,
  JOINED,
  RESUME,
  START,
  type WorkflowDefinition,
} from '../definition.ts';
import { roleName } from '../notation/field-schemas.ts';
import { NAME_RULE, workflowName } from '../notation/file-schema.ts';
import {
  blockSchema,
  branchesOf,
  reduceWorkflow,
  type Reduction,
  type SourceBlock,
} from '../notation/reduce-workflow.ts';
import { type Diagnostic, type Path, Report, type SourceMap } from '../source/source-map.ts';
import { pinnedName } from '../stored-blocks.ts';
import { checkExpressions, checkTemplates } from './check-texts.ts';
import { checkReachability, checkStatuses } from './routing.ts';
import { checkSchemas, SchemaShape } from './schemas.ts';

/** Where the value comes from. */
type ValidateOptions = {
  /** The file it was parsed from; its stem has to be the workflow's name. */
  file?: string;
  map?: SourceMap;
  /** The diagnostics of the parser. An error among them makes the workflow invalid. */
  diagnostics?: readonly Diagnostic[];
};

/** All errors and warnings, and the definition if there is no error. */
type ValidatedWorkflow = { definition: WorkflowDefinition | undefined; diagnostics: Diagnostic[] };

/**
 * Checks a workflow in any notation and reports every mistake at once, ordered by place.
 *
 * @param value the parsed content of a workflow file, or a definition
 */
export async function validateWorkflow(value: unknown, options: ValidateOptions = {}): Promise<ValidatedWorkflow> {
  const report = new Report(options.map);
  report.addAll(options.diagnostics ?? []);
  const json = asJson(report, value);
  if (json === undefined) return { definition: undefined, diagnostics: report.diagnostics() };
  const reduction = reduceWorkflow(report, json);
  checkNames(report, reduction, options.file);
  checkEnds(report, reduction);
  checkStoredNames(report, reduction);
  checkRolesOfBranches(report, reduction);
  checkBlocks(report, reduction);
  checkReachability(report, reduction);
  const shapes = await shapesOf(reduction);
  checkStatuses(report, reduction, shapes);
  await checkSchemas(report, reduction, shapes);
  await checkExpressions(report, reduction);
  await checkTemplates(report, reduction, shapes);
  return { definition: report.hasErrors ? undefined : reduction.definition, diagnostics: report.diagnostics() };
}

async function shapesOf({ places, definition }: Reduction): Promise<Map<string, SchemaShape>> {
  const shapes = new Map<string, SchemaShape>();
  for (const { name, hasSchema, role } of places) {
    const block = findBlock(definition, name);
    if (hasSchema)
      shapes.set(name, new SchemaShape(block ? await schemaWithStatuses(role.schema, block) : role.schema));
  }
  return shapes;
}

/** Takes a value that a program may have made as JSON; what JSON cannot carry is reported. */
function asJson(report: Report, value: unknown): JsonValue | undefined {
  try {
    assertJsonValue(value);
    return value;
  } catch (error) {
    if (!(error instanceof NotJson)) throw error;
    report.error('not-json', [], error.message);
    return undefined;
  }
}

/**
 * Returns the schema of what a block reports, with the list of its statuses if the expression of its join shows them: a comparison
 * gives `joined` or `failed`, a condition the texts in it. The stored schema leaves them open.
 */
async function schemaWithStatuses(
  schema: JsonObject,
  { join, merge }: Pick<BlockDefinition, 'join' | 'merge'>,
): Promise<JsonObject> {
  if (!isExpression(join)) return schema;
  const results = await literalResults(join).catch(inPlaceOf(ExpressionSyntaxError, undefined));
  if (results === undefined) return schema;
  const joined = [...results].flatMap((result) => (result === true ? JOINED : result || []));
  const statuses = new Set([...joined, FAILED, ...(merge ? [CONFLICT] : [])]);
  return { allOf: [schema, { properties: { $status: { enum: [...statuses] } } }] };
}

/** Tells why a text cannot name a workflow; `undefined` if it can. */
export function whyNoWorkflowName(name: string): string | undefined {
  if (!workflowName.test(name)) return NAME_RULE;
  // Source: git-check-ref-format(1), for the name becomes a ref.
  if (name.includes('..')) return "git allows no '..' in a ref name";
  if (name.endsWith('.') || name.endsWith('.lock')) return "git allows no ref name that ends in '.' or '.lock'";
  return undefined;
}

/** The name that a workflow file's path asks for: its stem, or for `index.yaml` its folder's name. */
export function nameFromPath(file: string): string {
  const stem = basename(file, extname(file));
  return stem === 'index' ? basename(dirname(file)) : stem;
}

/** @param file the file it stands in, whose stem has to be the name; absent for a definition that came from no file */
function checkNames(report: Report, reduction: Reduction, file: string | undefined): void {
  const { name } = reduction.definition;
  const path = ['name'];
  if (name !== '') {
    const reason = whyNoWorkflowName(name);
    if (reason !== undefined) report.error('bad-name', path, `'${name}' cannot name a workflow`, { hint: reason });
    if (file !== undefined && nameFromPath(file) !== name) {
      report.error('name-mismatch', path, `the workflow is called '${name}' but its file '${basename(file)}'`, {
        hint: `rename one of them: a workflow is found by its file's name`,
      });
    }
  }
  for (const role of reduction.roles) checkRoleName(report, role, 'a role');
}

function checkRoleName(report: Report, { name, path }: { name: string; path: Path }, what: string): void {
  if (/^(?:\$|__)/.test(name)) {
    report.error('reserved-name', path, `'${name}' is reserved and cannot name ${what}`, {
      hint: `${START}, ${RESUME}, ${END} and names that begin with $ have a meaning of their own`,
      at: 'key',
    });
  } else if (!roleName.test(name)) {
    report.error('bad-name', path, `'${name}' cannot name ${what}`, { hint: NAME_RULE, at: 'key' });
  }
}

/** Other common names of the ends of rules, in lower case. */
const inRules: Readonly<Record<string, string>> = { $start: START, $end: END, start: START, end: END };

function checkEnds(report: Report, { rules, places, unusedConditions }: Reduction): void {
  const names = places.map((role) => role.name);
  const known = new Set(names);
  // If no role could be read, only that is reported, not every rule.
  const hintFor = hints(names);
  const isRole = (name: string): boolean => known.has(name) || known.size === 0;
  for (const { rule, name, from, to } of rules) {
    const ends = [
      { ...from, end: rule.from, leads: 'leads on from', allowed: [START, RESUME], why: 'where the thread is over' },
      { ...to, end: rule.to, leads: 'leads to', allowed: [END], why: 'which is only ever a beginning' },
    ];
    for (const { path, at, end, leads, allowed, why } of ends) {
      if (allowed.includes(end)) continue;
      if (end === START || end === RESUME || end === END) {
        report.error('reserved-name', path, `${name} ${leads} ${end}, ${why}`, { at });
      } else if (!isRole(end)) {
        const hint = hintFor(end, allowed);
        report.error('unknown-role', path, `${name} ${leads} '${end}', which is no role`, { hint, at });
      }
    }
  }
  for (const [name, condition] of unusedConditions) {
    report.warning('unused-condition', condition.path, `no edge asks for the condition '${name}'`, { at: 'key' });
  }
}

/** Makes hints for unknown names. One wrong name may stand in thousands of rules, and is compared with the roles once. */
function hints(roles: readonly string[]): (name: string, reserved: readonly string[]) => string | undefined {
  const known = new Map<string, string | undefined>();
  return (name, reserved) => {
    const meant = inRules[name.toLowerCase()];
    if (meant !== undefined && reserved.includes(meant)) return `did you mean '${meant}'?`;
    const key = JSON.stringify([name, reserved]);
    if (!known.has(key)) known.set(key, didYouMean(name, [...roles, ...reserved]));
    return known.get(key);
  };
}

/** Names that the item of an `each` must not have: those of other variables, and words of JSONata and Liquid. */
const TAKEN: ReadonlySet<string> = new Set(
  `steps start threadId branches key _body and or in true false null function nil empty blank contains`.split(/\s+/),
);

function checkBlocks(report: Report, reduction: Reduction): void {
  for (const block of reduction.blocks) {
    checkRoleName(report, block, 'a block');
    for (const { key: name, path } of branchesOf(block)) {
      if (name !== undefined) checkRoleName(report, { name, path }, 'a branch');
    }
    checkItemName(report, block);
    checkIsolation(report, block);
    checkMerge(report, block, reduction);
    checkJoin(report, block);
    checkSchema(report, block);
  }
}

/** The roles that branches run have to exist, also for the engine. */
export function checkRolesOfBranches(report: Report, { blocks, roles }: Reduction): void {
  const known = roles.map(({ name }) => name);
  for (const block of blocks) {
    for (const { branch, title, path } of branchesOf(block)) {
      const { role } = branch;
      if (role === undefined || known.includes(role) || known.length === 0) continue;
      const isBlock = blocks.some(({ name }) => name === role);
      const hint = isBlock ? 'a branch runs a role or a workflow; a workflow may have blocks' : didYouMean(role, known);
      const what = isBlock ? 'is a block' : 'is no role';
      report.error('unknown-role', [...path, 'role'], `${title} runs '${role}', which ${what}`, { hint });
    }
  }
}

function checkItemName(report: Report, { name, block, path }: SourceBlock): void {
  const as = block.each?.as;
  if (as === undefined) return;
  const place = [...path, 'each', 'as'];
  if (TAKEN.has(as) || JSONATA_FUNCTIONS.has(as)) {
    const hint = JSONATA_FUNCTIONS.has(as) ? `$${as} is a function of JSONata` : `'${as}' has a meaning of its own`;
    report.error('reserved-name', place, `'${as}' is reserved and cannot name the item of block '${name}'`, { hint });
  }
}

/** Several branches that change files in one place undo each other's work. */
function checkIsolation(report: Report, { name, block, path }: SourceBlock): void {
  const isOne = block.branches !== undefined && Object.keys(block.branches).length === 1;
  if (block.isolation !== undefined || isOne) return;
  const message = `block '${name}' runs several branches and does not say where they work`;
  const hint =
    "add 'isolation: worktree' (a work tree for each branch), 'shared' (one for all) or 'none' (the main one)";
  report.error('missing-isolation', path, message, { hint, at: 'key' });
}

function checkMerge(report: Report, { name, block, path }: SourceBlock, { definition }: Reduction): void {
  if (block.merge === undefined) return;
  const place = [...path, 'merge'];
  if (!isIsolated(block.isolation)) {
    const message = `block '${name}' merges, but its branches have no work trees of their own`;
    const hint = "add 'isolation: worktree' to the block, or remove 'merge'";
    report.error('merge-without-isolation', place, message, { hint, at: 'key' });
  }
  if (!isIsolated(definition.isolation)) {
    const message = `block '${name}' merges, but the workflow has no work tree of its own to merge into`;
    const hint = "add 'isolation: worktree' to the workflow";
    report.error('merge-without-isolation', place, message, { hint, at: 'key' });
  }
}

function checkJoin(report: Report, { name, block: { join, branches }, path }: SourceBlock): void {
  if (typeof join === 'string' || branches === undefined) return;
  const count = Object.keys(branches).length;
  if (join.atLeast <= count) return;
  const message = `block '${name}' waits for ${join.atLeast} branches, and it has ${count}`;
  report.error('join-never-holds', [...path, 'join', 'atLeast'], message, { hint: `write at most ${count}` });
}

/** Checks that a block's schema, if there is one, is the one that uwf makes: a definition from nodes has it. */
function checkSchema(report: Report, { name, block, path }: SourceBlock): void {
  if (canonicalJson(block.schema) === canonicalJson(blockSchema(block))) return;
  const message = `block '${name}' has a schema, and uwf makes the schema of what a block reports`;
  report.error('block-schema', [...path, 'schema'], message, { hint: 'remove it', at: 'key' });
}

/**
 * Checks that no two definitions are stored under one name. The start of a thread has an agent for each role, each block
 * (`<block>`) and each fixed branch (`<block>.<key>`).
 */
export function checkStoredNames(report: Report, { blocks, roles }: Reduction): void {
  const owners = new Map(roles.map(({ name, title }) => [name, title]));
  for (const block of blocks) {
    const branches = branchesOf(block).filter(({ key }) => key !== undefined);
    const own = [
      { name: block.name, title: `block '${block.name}'`, path: block.path },
      ...branches.map(({ key, title, path }) => ({ name: pinnedName(block.name, key), title, path })),
    ];
    for (const { name, title, path } of own) {
      const owner = owners.get(name);
      owners.set(name, owner ?? title);
      if (owner === undefined) continue;
      const message = `${title} is stored as '${name}', as is ${owner}`;
      report.error('name-taken', path, message, { hint: 'rename one of them', at: 'key' });
    }
  }
}
