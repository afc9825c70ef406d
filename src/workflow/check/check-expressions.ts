import { compileExpression, unknownVariables, type CompiledExpression } from '../../expression/compile-expression.ts';
import { ExpressionSyntaxError } from '../../expression/expression-errors.ts';
import { CHECK_NAMES, JSONATA_FUNCTIONS, RULE_NAMES, STEP_FUNCTIONS } from '../../expression/function-names.ts';
import { nearestName } from '../../nearest-name.ts';
import { didYouMean } from '../did-you-mean.ts';
import type { Reduction } from '../notation/reduce-workflow.ts';
import { lengthOfExpressions, MAX_EXPRESSIONS } from '../expressions-of.ts';
import type { Report } from '../report.ts';
import type { Path } from '../source/source-map.ts';

/** An expression to check; shared conditions come once. */
type Expression = { source: string; path: Path; name: string; known: readonly string[] };

/** Checks that every expression compiles, names what exists, and means what it seems to mean. */
export async function checkExpressions(report: Report, reduction: Reduction): Promise<void> {
  const length = lengthOfExpressions(reduction.definition);
  if (length > MAX_EXPRESSIONS) {
    const message = `its conditions and checks have ${length} characters in all, and ${MAX_EXPRESSIONS} is the most`;
    return report.error('too-large', ['moderator'], message, {
      hint: 'work values out in a role, and route by its meta',
    });
  }
  const roles = reduction.roles.map((role) => role.name);
  for (const expression of collect(reduction)) {
    const { source, path, name } = expression;
    if (source.trim() === '') {
      report.error('expression-syntax', path, `${name} is empty`, {
        hint: "a rule that always holds has 'when: null'",
      });
      continue;
    }
    try {
      reportUses(report, expression, await compileExpression(source), roles);
    } catch (error) {
      if (!(error instanceof ExpressionSyntaxError)) throw error;
      report.error('expression-syntax', path, `${name} is not JSONata: ${error.reason}`, {
        hint: hintFor(source),
        ...(error.offset === undefined ? {} : { at: { offset: error.offset } }),
      });
    }
  }
}

function collect({ rules, roles, unusedConditions }: Reduction): Expression[] {
  const byPath = new Map<string, Expression>();
  const add = (expression: Expression): void => {
    const id = JSON.stringify(expression.path);
    if (!byPath.has(id)) byPath.set(id, expression);
  };
  for (const { condition: source, name, when } of rules) {
    // What is made from a status alone is right.
    if (source === undefined) continue;
    const isNamed = when.path[0] === 'conditions';
    const condition = isNamed ? `condition '${when.path[1]}'` : `'when' of ${name}`;
    add({ source, path: when.path, name: condition, known: RULE_NAMES });
  }
  for (const [name, { expression, path }] of unusedConditions) {
    add({ source: expression, path, name: `condition '${name}'`, known: RULE_NAMES });
  }
  for (const { name, checkPaths, role } of roles) {
    for (const [index, { expression }] of (role.check ?? []).entries()) {
      const path = checkPaths[index];
      if (path !== undefined) add({ source: expression, path, name: `a check of role '${name}'`, known: CHECK_NAMES });
    }
  }
  return [...byPath.values()];
}

function reportUses(
  report: Report,
  { path, name, known }: Expression,
  compiled: CompiledExpression,
  roles: readonly string[],
): void {
  for (const { name: used, offset } of compiled.refused) {
    report.error(
      'refused-function',
      path,
      `${name} uses $${used}, which is refused: a thread that is replayed must take the same way`,
      {
        hint:
          used === 'eval'
            ? 'write the expression out'
            : 'go by what the steps record, for instance $steps[-1].completedAtMs',
        at: { offset, length: used.length + 1 },
      },
    );
  }
  for (const { reason, hint, offset, length } of compiled.unsafe) {
    report.error('unsafe-expression', path, `${name} ${reason}, which is refused`, { hint, at: { offset, length } });
  }
  for (const { name: used, offset } of unknownVariables(compiled, known)) {
    const near = nearestName(used, [...known, ...JSONATA_FUNCTIONS]);
    report.error('unknown-variable', path, `${name} names $${used}, which does not exist`, {
      hint: near === undefined ? `there is ${known.map((item) => `$${item}`).join(', ')}` : `did you mean '$${near}'?`,
      at: { offset, length: used.length + 1 },
    });
  }
  for (const { name: used, offset } of compiled.bareNames) {
    // The input document has what is bound, but no functions.
    if (known.includes(used) && !STEP_FUNCTIONS.has(used)) continue;
    report.warning('bare-name', path, `${name} names '${used}' without a $, which is nothing here`, {
      hint: hintForBareName(used, known),
      at: { offset, length: used.length },
    });
  }
  for (const { functionName, role, offset } of compiled.roles) {
    if (roles.includes(role) || roles.length === 0) continue;
    report.error('unknown-role', path, `${name} asks for $${functionName}('${role}'), but there is no role '${role}'`, {
      hint: didYouMean(role, roles),
      at: { offset, length: functionName.length + role.length + 5 },
    });
  }
  for (const { offset, suggestion } of compiled.listComparisons) {
    report.warning(
      'list-comparison',
      path,
      `${name} compares a list of steps: with two such steps it is false whatever they say`,
      {
        hint: `to look at the last one write ${suggestion}`,
        at: { offset, length: '$steps'.length },
      },
    );
  }
}

function hintForBareName(name: string, known: readonly string[]): string {
  if (known.includes(name) || JSONATA_FUNCTIONS.has(name)) return `did you mean $${name}?`;
  const field = /^[A-Za-z_]\w*$/.test(name) && name !== 'status' ? name : '`$status`';
  return known.includes('meta')
    ? `a field of the reply is $meta.${field}`
    : `a field of a role's last reply is $last('<role>').${field}`;
}

/** What people write out of habit from other languages. */
function hintFor(source: string): string | undefined {
  if (source.includes('==')) return "JSONata compares with a single '='";
  if (source.includes('&&') || source.includes('||')) return "JSONata says 'and' and 'or'";
  if (source.includes('{{')) return 'a condition is JSONata, not a template: leave the braces out';
  if (/\.\s*\$status/.test(source)) return 'put the name in backticks: .`$status`';
  return undefined;
}
