import type { ErrorObject } from 'ajv';
import { withArticle } from '../../with-article.ts';

/** One thing that is wrong with a value. */
export type SchemaError = {
  /** Where, as a JSON pointer; empty for the value as a whole. */
  path: string;
  /** A sentence without its subject: `must be a string`. */
  message: string;
};

const MAX_ERRORS = 50;

/**
 * Says in plain words what a validator found, for people and for agents that are asked again.
 *
 * Of a union (`oneOf`, `anyOf`) whose variants are told apart by a constant only the variant that was meant is reported,
 * or, if none is, the constants there are. At most 50 are listed, none twice.
 */
export function readableErrors(found: readonly ErrorObject[] | null | undefined): SchemaError[] {
  const errors = found ?? [];
  let rest = [...errors];
  const readable: SchemaError[] = [];
  // Inner unions come before the outer ones they stand in.
  for (const union of errors.filter(isUnion)) {
    const verdict = judgeUnion(union, rest);
    rest = verdict.rest;
    readable.push(...verdict.found);
  }
  readable.push(...rest.map(describe));
  const unique = new Map(readable.map((error) => [`${error.path}\n${error.message}`, error]));
  return [...unique.values()].slice(0, MAX_ERRORS);
}

function isUnion(error: ErrorObject): boolean {
  return error.keyword === 'anyOf' || error.params['passingSchemas'] === null;
}

function judgeUnion(union: ErrorObject, errors: readonly ErrorObject[]): { rest: ErrorObject[]; found: SchemaError[] } {
  const prefix = `${union.schemaPath}/`;
  const isInside = (error: ErrorObject): boolean =>
    error.schemaPath.startsWith(prefix) && error.instancePath.startsWith(union.instancePath);
  const branches = new Map<string, ErrorObject[]>();
  for (const error of errors.filter(isInside)) {
    const branch = error.schemaPath.slice(prefix.length).split('/', 1).join();
    branches.set(branch, [...(branches.get(branch) ?? []), error]);
  }
  const outside = errors.filter((error) => error !== union && !isInside(error));
  const mistaken = [...branches.values()].map((branch) => branch.filter((error) => rulesOut(error, union)));
  const [meant, ...others] = [...branches.values()].filter((branch) => !branch.some((error) => rulesOut(error, union)));
  if (meant !== undefined && others.length === 0 && branches.size > 1)
    return { rest: [...outside, ...meant], found: [] };
  const choice = choiceOf(mistaken);
  return choice === undefined ? { rest: [...errors], found: [] } : { rest: outside, found: [choice] };
}

/** An error that shows that this variant was not meant: the wrong constant in a member, or the wrong type altogether. */
function rulesOut(error: ErrorObject, union: ErrorObject): boolean {
  const below = error.instancePath.slice(union.instancePath.length);
  if (error.keyword === 'type') return below === '';
  return isConstant(error) && below.split('/').length <= 2;
}

function isConstant({ keyword }: ErrorObject): boolean {
  return keyword === 'const' || keyword === 'enum';
}

/** What the constants of all variants allow, if they all speak of the same place. */
function choiceOf(mistaken: readonly ErrorObject[][]): SchemaError | undefined {
  const constants = mistaken.map((branch) => branch.find(isConstant)).filter((error) => error !== undefined);
  const path = constants[0]?.instancePath;
  if (path === undefined || constants.length < mistaken.length) return undefined;
  if (constants.some((error) => error.instancePath !== path)) return undefined;
  return { path, message: `must be one of ${listValues(constants.flatMap(allowedValues))}` };
}

function allowedValues(error: ErrorObject): unknown[] {
  if (error.keyword === 'const') return [error.params['allowedValue']];
  const values: unknown = error.params['allowedValues'];
  return Array.isArray(values) ? values : [];
}

function listValues(values: readonly unknown[]): string {
  return values.map((value) => JSON.stringify(value)).join(', ');
}

function describe(error: ErrorObject): SchemaError {
  return { path: error.instancePath, message: sentence(error) };
}

function sentence(error: ErrorObject): string {
  const { keyword, params } = error;
  const limit: unknown = params['limit'];
  switch (keyword) {
    case 'required':
      return `lacks the property '${String(params['missingProperty'])}'`;
    case 'dependentRequired':
    case 'dependencies':
      return `lacks the property '${String(params['missingProperty'])}', which '${String(params['property'])}' needs`;
    case 'additionalProperties':
      return `must not have the property '${String(params['additionalProperty'])}'`;
    case 'unevaluatedProperties':
      return `must not have the property '${String(params['unevaluatedProperty'])}'`;
    case 'propertyNames':
      return `must not have the property '${String(params['propertyName'])}': its name is not allowed`;
    case 'type':
      return `must be ${[params['type']].flat().map(nameOfType).join(' or ')}`;
    case 'const':
    case 'enum':
      return `must be ${keyword === 'enum' ? 'one of ' : ''}${listValues(allowedValues(error))}`;
    case 'minimum':
      return `must be ${String(limit)} or more`;
    case 'maximum':
      return `must be ${String(limit)} or less`;
    case 'exclusiveMinimum':
      return `must be more than ${String(limit)}`;
    case 'exclusiveMaximum':
      return `must be less than ${String(limit)}`;
    case 'multipleOf':
      return `must be a multiple of ${String(params['multipleOf'])}`;
    case 'minLength':
    case 'minItems':
    case 'minProperties':
      return `must have at least ${countOf(keyword, limit)}`;
    case 'maxLength':
    case 'maxItems':
    case 'maxProperties':
      return `must have at most ${countOf(keyword, limit)}`;
    case 'uniqueItems':
      return `must not have the same item twice (items ${String(params['j'])} and ${String(params['i'])}, from 0)`;
    case 'pattern':
      return `must match the pattern '${String(params['pattern'])}'`;
    case 'format':
      return params['format'] === 'cas_ref'
        ? 'must be a node hash'
        : `must have the format '${String(params['format'])}'`;
    case 'anyOf':
      return 'must match one of the variants in its schema';
    case 'oneOf':
      return 'must match one of the variants in its schema, and no other';
    case 'not':
      return 'must not match what its schema excludes';
    case 'false schema':
      return 'must not be there';
    default:
      return error.message ?? `fails '${keyword}'`;
  }
}

function nameOfType(type: unknown): string {
  return type === 'null' ? 'null' : withArticle(String(type));
}

/** `1 character`, `3 items`: what a keyword such as `minLength` counts. */
function countOf(keyword: string, limit: unknown): string {
  const one = keyword.endsWith('Length') ? 'character' : keyword.endsWith('Items') ? 'item' : 'property';
  const many = one === 'property' ? 'properties' : `${one}s`;
  return `${String(limit)} ${limit === 1 ? one : many}`;
}
