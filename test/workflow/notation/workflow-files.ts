import { Ajv } from 'ajv';
import type { JsonValue } from '../../../src/json.ts';
import { validateWorkflow } from '../../../src/workflow/check/validate-workflow.ts';
import { workflowFileSchema } from '../../../src/workflow/notation/editor-schema.ts';
import type { SchemaAndProgram } from '../../helpers/describe-agreement.ts';
import { generatedWorkflow } from '../generated-workflow.ts';

const ajv: Ajv = new Ajv({ strict: false, ownProperties: true });
const isAccepted = ajv.compile(workflowFileSchema());

/** What the schema has to refuse as well. */
const shapeCodes: ReadonlySet<string> = new Set([
  'unknown-key',
  'missing-key',
  'wrong-type',
  'unknown-version',
  'two-notations',
  'two-schemas',
  'no-roles',
  'no-edge',
  'empty-prompt',
  'bad-cwd',
  'bad-label',
]);

async function errorsOf(value: JsonValue): Promise<string[]> {
  const { diagnostics } = await validateWorkflow(value);
  return diagnostics.filter(({ severity }) => severity === 'error').map(({ code, path }) => `${code} ${path}`);
}

async function disagreement(value: JsonValue): Promise<string | undefined> {
  const errors = await errorsOf(value);
  const refused = isAccepted(value) ? undefined : ajv.errorsText(isAccepted.errors);
  if (refused !== undefined && errors.length === 0) return `only the schema refuses: ${refused}`;
  const shape = errors.filter((error) => shapeCodes.has(error.split(' ', 1)[0] ?? ''));
  return refused === undefined && shape.length > 0 ? `only validate refuses: ${shape.join(', ')}` : undefined;
}

/** The schema of workflow files, and `uwf workflow validate`. */
export const workflowFiles: SchemaAndProgram = {
  ajv,
  isAccepted,
  mistakesIn: errorsOf,
  disagreement,
  generate: generatedWorkflow,
};
