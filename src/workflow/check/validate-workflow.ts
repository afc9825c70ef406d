import { assertJsonValue, NotJson } from '../../cas/canonical.ts';
import { literalResults } from '../../expression/analysis/inspect-expression.ts';
import { ExpressionSyntaxError } from '../../expression/expression-errors.ts';
import type { JsonObject, JsonValue } from '../../json.ts';
import { inPlaceOf } from '../../or-else.ts';
import {
  type BlockDefinition,
  CONFLICT,
  FAILED,
  findBlock,
  isExpression,
  JOINED,
  type WorkflowDefinition,
} from '../definition.ts';
import type { Diagnostic } from '../diagnostics/diagnostic.ts';
import { Report } from '../diagnostics/report.ts';
import { reduceWorkflow, type Reduction } from '../notation/reduce-workflow.ts';
import type { SourceMap } from '../source/source-map.ts';
import { checkBlocks, checkRolesOfBranches, checkStoredNames } from './check-blocks.ts';
import { checkExpressions } from './check-expressions.ts';
import { checkEnds, checkNames } from './check-names.ts';
import { checkReachability } from './check-reachability.ts';
import { checkSchemas } from './check-schemas.ts';
import { checkStatuses } from './check-statuses.ts';
import { checkTemplates } from './check-templates.ts';
import { SchemaShape } from './schema-shape.ts';

/** Where the value comes from. */
export type ValidateOptions = {
  /** The file it was parsed from; its stem has to be the workflow's name. */
  file?: string;
  map?: SourceMap;
  /** The diagnostics of the parser. An error among them makes the workflow invalid. */
  diagnostics?: readonly Diagnostic[];
};

/** All errors and warnings, and the definition if there is no error. */
export type ValidatedWorkflow = { definition: WorkflowDefinition | undefined; diagnostics: Diagnostic[] };

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

/** Reads the schemas of roles and blocks, by name. */
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
