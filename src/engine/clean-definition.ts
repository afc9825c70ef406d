import { schemaWords } from '../schema/schema-words.ts';
import { InvalidWorkflow } from '../workflow/diagnostic.ts';
import type { WorkflowDefinition } from '../workflow/definition.ts';
import { validateWorkflow } from '../workflow/validate-workflow.ts';
import type { Redaction } from './redaction.ts';

/**
 * A definition without secrets. What its schemas name stays: replies are held against it.
 * @throws {InvalidWorkflow} if it is none any more
 */
export async function cleanDefinition(
  redaction: Redaction,
  definition: WorkflowDefinition,
): Promise<WorkflowDefinition> {
  const words = Object.values(definition.roles).flatMap(({ schema }) => [...schemaWords(schema)]);
  const clean = redaction.value(definition, new Set(words));
  if (clean === definition) return definition;
  const checked = await validateWorkflow(clean);
  if (checked.definition === undefined) throw new InvalidWorkflow(definition.name, checked.diagnostics);
  return checked.definition;
}
