import { didYouMean, nearestName } from '../../text/nearest-name.ts';
import { hintForDraft, InvalidSchema } from '../../schema/schema-error.ts';
import { CAS_REF } from '../../schema/find-links.ts';
import { atPointer, subschemas } from '../../schema/typed-schema.ts';
import { assertSchema } from '../../schema/validate-against.ts';
import type { Reduction, SourceRole } from '../notation/reduce-workflow.ts';
import { schemaKeywords, schemaTypes } from '../notation/editor-schema.ts';
import type { Report } from '../diagnostics/report.ts';
import type { SchemaShape } from './schema-shape.ts';

/** The variables that templates always have. A field should not have one of these names. */
const taken: Readonly<Record<string, string>> = {
  steps: 'the steps so far',
  start: "the thread's beginning",
  threadId: "the thread's id",
};

/** Checks that every role's schema is one, and that its fields do not hide what templates always see. */
export async function checkSchemas(
  report: Report,
  reduction: Reduction,
  shapes: ReadonlyMap<string, SchemaShape>,
): Promise<void> {
  for (const role of reduction.roles) {
    if (!role.hasSchema) continue;
    await checkSchema(report, role);
    reportMisspelt(report, role);
    await reportFormats(report, role);
    const names = shapes.get(role.name)?.fields().names ?? new Set();
    const options = { hint: 'call it something else', at: 'key' } as const;
    const field = (name: string): string => `the schema of ${role.title} has a field '${name}', which`;
    if (names.has('_body')) {
      report.error('reserved-field', role.schemaPath, `${field('_body')} is the reply's text`, options);
    }
    for (const [name, meaning] of Object.entries(taken)) {
      const message = `${field(name)} templates after it cannot tell from ${meaning}`;
      if (names.has(name)) report.warning('reserved-field', role.schemaPath, message, options);
    }
  }
}

async function checkSchema(report: Report, role: SourceRole): Promise<void> {
  try {
    await assertSchema(role.role.schema);
  } catch (error) {
    if (!(error instanceof InvalidSchema)) throw error;
    // Several errors at one place (such as an unknown `type`) are one mistake.
    const byPath = new Map(error.errors.toReversed().map(({ path, message }) => [path, message]));
    for (const [path, message] of [...byPath].toReversed()) {
      const inside = atPointer(role.role.schema, path)?.path ?? [];
      const where = path === '' ? '' : `'${inside.join('.')}' `;
      const fault = `the schema of ${role.title} is no JSON Schema: ${where}${message}`;
      const isType = inside.at(-1) === 'type';
      const hint = isType ? `a type is one of ${schemaTypes.join(', ')}` : hintForDraft(inside);
      report.error('invalid-schema', [...role.schemaPath, ...inside], fault, { hint });
    }
  }
}

/** Reports keywords that resemble one, or that earlier drafts have: JSON Schema ignores them, and the schema requires less than it seems to. */
function reportMisspelt(report: Report, role: SourceRole): void {
  for (const { schema, path } of subschemas(role.role.schema)) {
    for (const key of Object.keys(schema)) {
      if (schemaKeywords.has(key) || key.startsWith('x-')) continue;
      const near = nearestName(key, schemaKeywords);
      const hint = hintForDraft([...path, key]) ?? (near && `did you mean '${near}'?`);
      if (hint === undefined) continue;
      const message = `the schema of ${role.title} has '${key}', which JSON Schema passes over`;
      report.warning('unknown-keyword', [...role.schemaPath, ...path, key], message, { hint, at: 'key' });
    }
  }
}

/** Reports formats that are not checked: with one, any text is right. */
async function reportFormats(report: Report, role: SourceRole): Promise<void> {
  for (const { schema, path } of subschemas(role.role.schema)) {
    const { format } = schema;
    if (typeof format !== 'string' || format === CAS_REF || format.startsWith('x-')) continue;
    // Loaded here, because few schemas have a format.
    const { formatNames } = await import('../../schema/validator.ts');
    const known = await formatNames();
    if (known.includes(format)) continue;
    const message = `the schema of ${role.title} has the format '${format}', which is not checked: any text is right`;
    const hint = didYouMean(format, known.toSorted(), known.length);
    report.warning('unknown-format', [...role.schemaPath, ...path, 'format'], message, { hint });
  }
}
