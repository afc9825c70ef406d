import { UwfError } from '../../errors.ts';
import { hintForDraft } from './earlier-drafts.ts';
import type { SchemaError } from './schema-error.ts';

/** A value is not a JSON Schema (draft 2020-12) that uwf can work with. */
export class InvalidSchema extends UwfError {
  readonly errors: readonly SchemaError[];
  constructor(errors: readonly SchemaError[], cause?: unknown) {
    const hints = errors.flatMap(({ path }) => hintForDraft(path.split('/')) ?? []);
    super(`this is not a schema: ${describeErrors(errors)}`, {
      code: 'invalid-schema',
      kind: 'data',
      hint: hints[0] ?? 'schemas are JSON Schema draft 2020-12, complete in themselves',
      cause,
    });
    this.errors = errors;
  }
}

/** A value is not what its schema asks for. */
export class SchemaViolation extends UwfError {
  /** What was checked: the name of a type, `meta` … */
  readonly subject: string;
  readonly errors: readonly SchemaError[];
  constructor(subject: string, errors: readonly SchemaError[]) {
    super(`${subject} does not match its schema: ${describeErrors(errors)}`, {
      code: 'schema-violation',
      kind: 'data',
    });
    this.subject = subject;
    this.errors = errors;
  }
}

function describeErrors(errors: readonly SchemaError[]): string {
  const lines = errors.slice(0, 5).map(({ path, message }) => (path === '' ? message : `${path} ${message}`));
  return lines.join('; ') + (errors.length > 5 ? `; and ${errors.length - 5} more` : '');
}
