import {
  type InspectedExpression,
  inspectExpression,
  unknownVariables,
} from '../../expression/analysis/inspect-expression.ts';
import {
  BRANCHES,
  CHECK_NAMES,
  JOIN_NAMES,
  JSONATA_FUNCTIONS,
  RULE_NAMES,
  STEP_FUNCTIONS,
} from '../../expression/analysis/syntax-tree.ts';
import { ExpressionSyntaxError } from '../../expression/expression-errors.ts';
import { TemplateSyntaxError, type TemplateVariable, templateVariables } from '../../expression/template/template.ts';
import { didYouMean, listNames, nearestName } from '../../text/nearest-name.ts';
import { isExpression, lengthOfExpressions, MAX_EXPRESSIONS, RESUME, START } from '../definition.ts';
import { branchesOf, type Reduction, type SourceRule } from '../notation/reduce-workflow.ts';
import { type Path, type Report, SourceText } from '../source/source-map.ts';
import { handledStatuses } from './routing.ts';
import type { SchemaShape } from './schemas.ts';

/** An expression to check; shared conditions come once. */
type Expression = { source: string; path: Path; name: string; known: readonly string[] };

export async function checkExpressions(report: Report, reduction: Reduction): Promise<void> {
  const length = lengthOfExpressions(reduction.definition);
  if (length > MAX_EXPRESSIONS) {
    const message = `its conditions and checks have ${length} characters in all, and ${MAX_EXPRESSIONS} is the most`;
    const hint = 'work values out in a role, and route by its meta';
    return report.error('too-large', ['moderator'], message, { hint });
  }
  const roles = new Set(reduction.places.map((role) => role.name));
  // Edges that an anchor repeats have the same few expressions: each text is parsed once.
  const inspected = new Map<string, Promise<InspectedExpression>>();
  const inspect = (source: string): Promise<InspectedExpression> => {
    const found = inspected.get(source) ?? inspectExpression(source);
    inspected.set(source, found);
    return found;
  };
  for (const expression of collect(reduction)) {
    const { source, path, name } = expression;
    if (source.trim() === '') {
      const hint = "a rule that always holds has 'when: null'";
      report.error('expression-syntax', path, `${name} is empty`, { hint });
      continue;
    }
    try {
      reportUses(report, expression, await inspect(source), roles);
    } catch (error) {
      if (!(error instanceof ExpressionSyntaxError)) throw error;
      report.error('expression-syntax', path, `${name} is not JSONata: ${error.reason}`, {
        hint: hintFor(source),
        at: error.offset === undefined ? undefined : { offset: error.offset },
      });
    }
  }
}

function collect({ rules, roles, blocks, unusedConditions }: Reduction): Expression[] {
  const byPath = new Map<string, Expression>();
  const add = (expression: Expression): void => {
    const id = JSON.stringify([expression.path, expression.known]);
    if (!byPath.has(id)) byPath.set(id, expression);
  };
  const blockNames = new Set(blocks.map(({ name }) => name));
  const afterBlock = [...RULE_NAMES, BRANCHES];
  for (const { condition: source, name, when, rule } of rules) {
    // The reader made this condition from a status, so it needs no check.
    if (source === undefined) continue;
    const isNamed = when.path[0] === 'conditions';
    const condition = isNamed ? `condition '${when.path[1]}'` : `'when' of ${name}`;
    add({ source, path: when.path, name: condition, known: blockNames.has(rule.from) ? afterBlock : RULE_NAMES });
  }
  for (const [name, { expression, path }] of unusedConditions) {
    add({ source: expression, path, name: `condition '${name}'`, known: blocks.length > 0 ? afterBlock : RULE_NAMES });
  }
  for (const { name, checkPaths, role } of roles) {
    for (const [index, { expression }] of (role.check ?? []).entries()) {
      const path = checkPaths[index];
      if (path !== undefined) add({ source: expression, path, name: `a check of role '${name}'`, known: CHECK_NAMES });
    }
  }
  for (const { name, block, path } of blocks) {
    const { each, join } = block;
    if (each !== undefined) {
      const isAfterBlock = rules.some(({ rule: { from, to } }) => to === name && blockNames.has(from));
      const known = isAfterBlock ? afterBlock : RULE_NAMES;
      const place = [...path, 'each'];
      add({ source: each.over, path: [...place, 'over'], name: `'over' of block '${name}'`, known });
      add({ source: each.key, path: [...place, 'key'], name: `'key' of block '${name}'`, known: [each.as] });
    }
    if (isExpression(join)) {
      add({ source: join, path: [...path, 'join'], name: `'join' of block '${name}'`, known: JOIN_NAMES });
    }
  }
  return [...byPath.values()];
}

function reportUses(
  report: Report,
  { path, name, known }: Expression,
  compiled: InspectedExpression,
  roles: ReadonlySet<string>,
): void {
  for (const { name: used, offset } of compiled.refused) {
    const message = `${name} uses $${used}, which is refused: a thread that is replayed must take the same way`;
    const other = 'go by what the steps record, for instance $steps[-1].completedAtMs';
    const hint = used === 'eval' ? 'write the expression out' : other;
    report.error('refused-function', path, message, { hint, at: { offset, length: used.length + 1 } });
  }
  for (const { reason, hint, offset, length } of compiled.unsafe) {
    report.error('unsafe-expression', path, `${name} ${reason}, which is refused`, { hint, at: { offset, length } });
  }
  for (const { name: used, offset } of unknownVariables(compiled, known)) {
    const near = nearestName(used, [...known, ...JSONATA_FUNCTIONS]);
    const others =
      near === undefined ? `there is ${known.map((item) => `$${item}`).join(', ')}` : `did you mean '$${near}'?`;
    const hint = used === BRANCHES ? 'only what comes right after a block sees its $branches' : others;
    const at = { offset, length: used.length + 1 };
    report.error('unknown-variable', path, `${name} names $${used}, which does not exist`, { hint, at });
  }
  for (const { name: used, offset } of compiled.bareNames) {
    // The input document has what is bound, but no functions.
    if (known.includes(used) && !STEP_FUNCTIONS.has(used)) continue;
    const message = `${name} names '${used}' without a $, which is nothing here`;
    report.warning('bare-name', path, message, {
      hint: hintForBareName(used, known),
      at: { offset, length: used.length },
    });
  }
  for (const { functionName, role, offset } of compiled.roles) {
    if (roles.has(role) || roles.size === 0) continue;
    const message = `${name} asks for $${functionName}('${role}'), but there is no role '${role}'`;
    const at = { offset, length: functionName.length + role.length + 5 };
    report.error('unknown-role', path, message, { hint: didYouMean(role, roles), at });
  }
  for (const { list, offset, suggestion } of compiled.listComparisons) {
    const message = `${name} compares a list of ${list}: with two such ${list} it is false whatever they say`;
    const hint = `to ${list === 'steps' ? 'look at the last one' : 'count them'} write ${suggestion}`;
    report.warning('list-comparison', path, message, { hint, at: { offset, length: list.length + 1 } });
  }
}

function hintForBareName(name: string, known: readonly string[]): string {
  const isOfJoin = known === JOIN_NAMES;
  const word = isOfJoin ? nearestName(name, ['all', 'any']) : undefined;
  if (word !== undefined) return `did you mean '${word}'?`;
  if (known.includes(name) || JSONATA_FUNCTIONS.has(name)) return `did you mean $${name}?`;
  const field = /^[A-Za-z_]\w*$/.test(name) && name !== 'status' ? name : '`$status`';
  if (isOfJoin) return 'there is $branches, with the key, status, meta and end of each, and $total';
  const [only] = known.length === 1 ? known : [];
  if (only !== undefined) return `a field of the item is ${only}.${field}`;
  return known.includes('meta')
    ? `a field of the reply is $meta.${field}`
    : `a field of a role's last reply is $last('<role>').${field}`;
}

/** Returns a hint for an operator of another language. */
function hintFor(source: string): string | undefined {
  if (source.includes('==')) return "JSONata compares with a single '='";
  if (source.includes('&&') || source.includes('||')) return "JSONata says 'and' and 'or'";
  if (source.includes('{{')) return 'a condition is JSONata, not a template: leave the braces out';
  if (/\.\s*\$status/.test(source)) return 'put the name in backticks: .`$status`';
  return undefined;
}

/** What every template sees beside the fields of the last reply. */
const always = ['steps', 'start', 'threadId'];
const body = '_body';
/** The fields of `start`, as `StartView` has them. */
const startFields = ['prompt', 'workflow', 'depth', 'startedAtMs'];

/**
 * Checks that every prompt and location is Liquid, and names only what the reply before it has.
 *
 * An unknown name in a first prompt is only a warning: it renders as nothing, and workflows for other engines rely on that.
 */
export async function checkTemplates(
  report: Report,
  reduction: Reduction,
  shapes: ReadonlyMap<string, SchemaShape>,
): Promise<void> {
  // Edges that an anchor repeats have the same few templates: each text is parsed once.
  const variables = new Map<string, Promise<TemplateVariable[]>>();
  const variablesOf = (source: string): Promise<TemplateVariable[]> => {
    const found = variables.get(source) ?? templateVariables(source);
    variables.set(source, found);
    return found;
  };
  let reported: ReadonlySet<string> | undefined;
  const isReported = (name: string): boolean => {
    reported ??= new Set([...shapes.values()].flatMap((shape) => [...shape.fields().names]));
    return reported.has(name);
  };
  const titles = new Map(reduction.places.map(({ name, title }) => [name, title]));
  const titleOf = (place: string): string => titles.get(place) ?? `role '${place}'`;
  for (const template of templatesOf(reduction)) {
    const { source, path, name } = template;
    const text = new SourceText('', source);
    try {
      for (const variable of await variablesOf(source)) {
        checkVariable({ ...template, report, shapes, isReported, text, titleOf }, variable);
      }
    } catch (error) {
      if (!(error instanceof TemplateSyntaxError)) throw error;
      const offset = offsetIn(text, error.line, error.column);
      const triple = findTripleBraces(source, offset);
      report.error('template-syntax', path, `${name} is not Liquid: ${error.reason}`, {
        at: triple ?? placeOfTag(source, offset),
        hint: triple && "Liquid has two braces: write {{ name }}; a brace itself is {{ '{' }}",
      });
    }
  }
}

type SourceTemplate = {
  source: string;
  path: Path;
  /** How messages name it. */
  name: string;
  /** The rules after which it is rendered; a variable has to exist after at least one of them. */
  rules: readonly SourceRule[];
  /** Its variables beside those that every template has. */
  own: readonly string[];
};

function templatesOf({ rules, blocks }: Reduction): SourceTemplate[] {
  const ofRules = rules.flatMap((rule) =>
    (['prompt', 'location'] as const).flatMap((part) => {
      const source = rule.rule[part];
      if (source === undefined) return [];
      return [
        { source, path: [...rule.whole.path, part], name: `the ${part} of ${rule.name}`, rules: [rule], own: [] },
      ];
    }),
  );
  const ofBlocks = blocks.flatMap((block) => {
    const before = rules.filter(({ rule }) => rule.to === block.name);
    const own = ['key', ...(block.block.each ? [block.block.each.as] : [])];
    return branchesOf(block).flatMap(({ branch: { prompt: source }, title, path }) =>
      source === undefined
        ? []
        : [{ source, path: [...path, 'prompt'], name: `the prompt of ${title}`, rules: before, own }],
    );
  });
  return [...ofRules, ...ofBlocks];
}

type Checked = SourceTemplate & {
  report: Report;
  shapes: ReadonlyMap<string, SchemaShape>;
  /** Tells whether any role reports a field of this name. */
  isReported: (name: string) => boolean;
  titleOf: (place: string) => string;
  text: SourceText;
};

function checkVariable(checked: Checked, { path: [root, ...rest], line, column }: TemplateVariable): void {
  const { report, path, name, text, rules, own } = checked;
  const at = { offset: offsetIn(text, line, column), length: root.length };
  if (root === 'start' && typeof rest[0] === 'string' && !startFields.includes(rest[0])) {
    report.error('unknown-variable', path, `${name} names start.${rest[0]}, which does not exist`, {
      hint: didYouMean(rest[0], startFields),
      at: { ...at, length: root.length + 1 + rest[0].length },
    });
    return;
  }
  if (always.includes(root) || own.includes(root)) return;
  const faults = rules.map((rule) => faultAfter(rule, checked, root));
  const fault = faults.find((found) => found?.severity === 'error') ?? faults[0];
  if (fault === undefined || faults.includes(undefined)) return;
  report[fault.severity]('unknown-variable', path, `${name} names '${root}', ${fault.reason}`, {
    hint: fault.hint,
    at,
  });
}

type Fault = { severity: 'error' | 'warning'; reason: string; hint: string | undefined };

/** Returns why a variable does not exist after a rule was taken; `undefined` if it may exist. */
function faultAfter(rule: SourceRule, { shapes, isReported, titleOf, own }: Checked, root: string): Fault | undefined {
  const { from } = rule.rule;
  if (from === START || from === RESUME) {
    if (from === RESUME && (root === body || isReported(root))) return undefined;
    const why = from === START ? 'nothing was reported yet' : 'no role reports it';
    return { severity: 'warning', reason: `but ${why}: it renders as nothing`, hint: 'the task is {{ start.prompt }}' };
  }
  const shape = shapes.get(from);
  if (root === body || shape === undefined) return undefined;
  const statuses = shape.statuses && handledStatuses(rule, shape.statuses);
  const { names, isOpen } = shape.fields(statuses);
  if (isOpen || names.has(root)) return undefined;
  const of = statuses === undefined ? titleOf(from) : `${titleOf(from)} with ${listNames(statuses)}`;
  const hint = shape.fields().names.has(root)
    ? `'${root}' comes with another status`
    : didYouMean(root, [...names, ...own, body, ...always]);
  return { severity: 'error', reason: `which a reply of ${of} does not have`, hint };
}

/** The offset of a line and column, both from 1. */
function offsetIn(text: SourceText, line: number, column: number): number {
  return text.lineStart(line) + column - 1;
}

/** Finds the triple braces of Mustache and Handlebars around an offset. */
function findTripleBraces(source: string, offset: number): { offset: number; length: number } | undefined {
  for (const { 0: text, index } of source.matchAll(/\{\{\{[^{}]*\}*/gu)) {
    if (index <= offset && offset <= index + text.length) return { offset: index, length: text.length };
  }
  return undefined;
}

/** The whole of a tag or an output, so that the eye finds it. */
function placeOfTag(source: string, offset: number): { offset: number; length: number } {
  const [tag = ''] = /^\{(?:\{[^}\n]*\}\}|%[^%\n]*%\})/.exec(source.slice(offset)) ?? [];
  return { offset, length: Math.max(1, tag.length) };
}
