import { isJsonObject, type JsonObject, type JsonValue } from '../../json.ts';
import { CAS_REF } from '../../schema/find-links.ts';
import { hintForDraft, InvalidSchema } from '../../schema/schema-error.ts';
import { applicators, atPointer, subschemas } from '../../schema/typed-schema.ts';
import { assertSchema } from '../../schema/validate-against.ts';
import { didYouMean, nearestName } from '../../text/nearest-name.ts';
import { schemaKeywords, schemaTypes } from '../notation/editor-schema.ts';
import type { Reduction, SourceRole } from '../notation/reduce-workflow.ts';
import type { Path, Report } from '../source/source-map.ts';

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

/** One way in which a reply can satisfy a schema, as far as routing and templates care. */
type Variant = {
  /** The values `$status` can have; `undefined` where the schema does not say. */
  statuses: ReadonlySet<string> | undefined;
  fields: ReadonlySet<string>;
  /** The schema explicitly allows other properties, or has a reference that cannot be followed. */
  isOpen: boolean;
  isStatusRequired: boolean;
  isStatusDeclared: boolean;
};

/** A schema with more variants counts as open: it is better to miss a mistake than to report one that is none. */
const MAX_VARIANTS = 256;

/** Keywords whose schemas say something of a reply. */
const describing = new Set(['$ref', 'oneOf', 'anyOf', 'allOf', 'then', 'else', 'dependentSchemas']);

const trivial: Variant = {
  statuses: undefined,
  fields: new Set(),
  isOpen: false,
  isStatusRequired: false,
  isStatusDeclared: false,
};

/**
 * What a role's schema says of its replies: the statuses it lists and the fields that come with each.
 *
 * Reads properties, const, enum, oneOf, anyOf, allOf, if/then/else, dependentSchemas and local `$ref`s.
 * It is for the checks of a workflow, not for validation: a schema that it cannot read counts as open.
 */
export class SchemaShape {
  readonly #root: JsonObject;
  readonly #variants: readonly Variant[];
  readonly #statusPaths: Map<string, Path> = new Map();

  constructor(schema: JsonObject) {
    this.#root = schema;
    this.#variants = this.#read(schema, [], new Set());
  }

  /** The statuses a reply can have, in the schema's order; `undefined` where the schema leaves them open. */
  get statuses(): string[] | undefined {
    const statuses = new Set<string>();
    for (const variant of this.#variants) {
      if (variant.statuses === undefined) return undefined;
      for (const status of variant.statuses) statuses.add(status);
    }
    return [...statuses];
  }

  get hasStatus(): boolean {
    return this.#variants.some((variant) => variant.isStatusDeclared);
  }

  get isStatusRequired(): boolean {
    return this.#variants.every((variant) => variant.isStatusRequired);
  }

  statusPath(status: string): Path {
    return this.#statusPaths.get(status) ?? [];
  }

  /** The fields of replies with one of these statuses (without: of all replies), and whether there can be others. */
  fields(statuses?: readonly string[]): { names: Set<string>; isOpen: boolean } {
    const chosen = this.#variants.filter(
      (variant) =>
        statuses === undefined ||
        variant.statuses === undefined ||
        statuses.some((status) => variant.statuses?.has(status)),
    );
    const names = new Set<string>();
    for (const variant of chosen) for (const name of variant.fields) names.add(name);
    // No variant has the status, which is reported elsewhere. Its fields are not known.
    return { names, isOpen: chosen.length === 0 || chosen.some((variant) => variant.isOpen) };
  }

  #read(schema: JsonValue | undefined, path: Path, seen: ReadonlySet<JsonObject>): Variant[] {
    if (schema === false) return [];
    if (!isJsonObject(schema)) return [trivial];
    // A schema that refers to itself adds nothing the second time.
    if (seen.has(schema)) return [trivial];
    const inner = new Set(seen).add(schema);
    let variants = [this.#readOwn(schema, path)];
    const product = (others: Variant[]): void => {
      variants = variants.flatMap((left) => others.flatMap((right) => merge(left, right)));
      if (variants.length > MAX_VARIANTS) variants = [{ ...trivial, isOpen: true, isStatusDeclared: true }];
    };
    const conditional: Variant[] = [];
    for (const { keyword, parts } of applicators(this.#root, schema, path)) {
      if (!describing.has(keyword)) continue;
      const read = parts.map((part) => this.#read(part.schema, part.path, inner));
      if (keyword === '$ref') product(read[0] ?? [{ ...trivial, isOpen: true }]);
      else if (keyword === 'allOf') read.forEach(product);
      else if (keyword === 'then' || keyword === 'else') conditional.push(...read.flat());
      else if (keyword === 'dependentSchemas') for (const part of read) product([trivial, ...part]);
      else product(read.flat());
    }
    const { then, else: otherwise } = schema;
    if (then !== undefined || otherwise !== undefined) {
      product(then === undefined || otherwise === undefined ? [trivial, ...conditional] : conditional);
    }
    return variants;
  }

  #readOwn(schema: JsonObject, path: Path): Variant {
    const properties = isJsonObject(schema['properties']) ? schema['properties'] : {};
    const status = Object.hasOwn(properties, '$status') ? properties['$status'] : undefined;
    const required = schema['required'];
    return {
      statuses:
        status === undefined ? undefined : this.#readStatuses(status, [...path, 'properties', '$status'], new Set()),
      fields: new Set(Object.keys(properties)),
      isOpen:
        isPermission(schema['additionalProperties']) ||
        isPermission(schema['unevaluatedProperties']) ||
        schema['patternProperties'] !== undefined ||
        schema['$dynamicRef'] !== undefined,
      isStatusRequired: Array.isArray(required) && required.includes('$status'),
      isStatusDeclared: status !== undefined,
    };
  }

  #readStatuses(schema: JsonValue, path: Path, seen: ReadonlySet<JsonObject>): Set<string> | undefined {
    if (!isJsonObject(schema) || seen.has(schema)) return undefined;
    const inner = new Set(seen).add(schema);
    const found: Set<string>[] = [];
    const note = (status: JsonValue, at: Path): string[] => {
      if (typeof status !== 'string') return [];
      if (!this.#statusPaths.has(status)) this.#statusPaths.set(status, at);
      return [status];
    };
    if (schema['const'] !== undefined) found.push(new Set(note(schema['const'], [...path, 'const'])));
    if (Array.isArray(schema['enum'])) {
      found.push(new Set(schema['enum'].flatMap((status, index) => note(status, [...path, 'enum', index]))));
    }
    for (const { keyword, parts } of applicators(this.#root, schema, path)) {
      if (!['$ref', 'oneOf', 'anyOf'].includes(keyword)) continue;
      const statuses = parts.map((part) => this.#readStatuses(part.schema, part.path, inner));
      if (parts.length === 0 || statuses.includes(undefined)) continue;
      found.push(new Set(statuses.flatMap((some) => [...(some ?? [])])));
    }
    if (found.length === 0) return undefined;
    return found.reduce(intersect);
  }
}

/** Only an explicit permission counts: by default JSON Schema allows other properties, which authors rarely mean. */
function isPermission(value: JsonValue | undefined): boolean {
  return value === true || isJsonObject(value);
}

function intersect(left: Set<string>, right: ReadonlySet<string>): Set<string> {
  return new Set([...left].filter((item) => right.has(item)));
}

function merge(left: Variant, right: Variant): Variant[] {
  const statuses =
    left.statuses !== undefined && right.statuses !== undefined
      ? intersect(new Set(left.statuses), right.statuses)
      : (left.statuses ?? right.statuses);
  // No status satisfies both: such a reply does not exist.
  if (statuses?.size === 0) return [];
  return [
    {
      statuses,
      fields: new Set([...left.fields, ...right.fields]),
      isOpen: left.isOpen || right.isOpen,
      isStatusRequired: left.isStatusRequired || right.isStatusRequired,
      isStatusDeclared: left.isStatusDeclared || right.isStatusDeclared,
    },
  ];
}
