import { isJsonObject } from '../../json.ts';
import type { JsonObject, JsonValue } from '../../json.ts';
import { checkValue } from './check-value.ts';
import { extractReply } from './extract-reply.ts';

/** The tool by which an agent reports its structured result. */
export const RESULT_TOOL = 'report_result';

/**
 * What the tool says of itself to a model.
 * @param text when the model is to say its text: the end of a sentence
 */
export function resultToolDescription(text: string): string {
  return (
    `Reports the structured result of your work. Call it once, when you are done; ${text}, without front ` +
    'matter. If you cannot go on without a person, report {"$status": "$SUSPEND", "reason": "what you need to know"}.'
  );
}

/** The name under which a schema that cannot be a tool's own lies in the tool's. */
const WRAPPED = 'result';
/** What the APIs of models take as the name of an argument. */
const ARGUMENT_NAME = /^[a-zA-Z0-9_.-]{1,64}$/u;

/**
 * The input schema of the tool that reports a result: the role's own, or an object with the role's as `result`.
 *
 * Servers of models refuse a tool, and with it the whole request, whose input is not `type: object`, has `oneOf` and the
 * like at its top, or has an argument with a `$` in its name, such as `$status`. Deeper down all of that is accepted.
 */
export function resultToolSchema(schema: JsonObject): JsonObject {
  if (isToolSchema(schema)) return schema;
  const { $schema: _, $id: __, ...plain } = schema;
  return {
    type: 'object',
    properties: { [WRAPPED]: isJsonObject(plain) ? moveReferences(plain) : plain },
    required: [WRAPPED],
    additionalProperties: false,
  };
}

/**
 * Reads what the tool was called with: a result as its schema asks for, wrapped or not.
 *
 * A result that suspends (`$status: $SUSPEND` with a `reason`) is one for every role.
 * @returns the result, or what is wrong with it in words for the agent
 */
export async function readResult(
  input: JsonValue,
  schema: JsonObject,
): Promise<{ kind: 'ok'; meta: JsonObject } | { kind: 'invalid'; errors: readonly string[] }> {
  if (!isJsonObject(input)) return { kind: 'invalid', errors: ['the result has to be an object'] };
  const inner = input[WRAPPED];
  const candidates = [...(isJsonObject(inner) ? [inner] : []), input];
  let errors: readonly string[] = [];
  for (const meta of candidates) {
    const verdict = await extractReply('', schema, meta);
    if (verdict.kind !== 'invalid') return { kind: 'ok', meta };
    if (errors.length === 0) errors = verdict.errors;
  }
  // Said of the arguments, where what is wrong is their outer form.
  const outer = isJsonObject(inner) ? [] : await checkValue(resultToolSchema(schema), input, 'input');
  return { kind: 'invalid', errors: outer.length > 0 ? outer : errors };
}

function isToolSchema(schema: JsonObject): boolean {
  const { type, properties } = schema;
  const hasAlternatives = ['oneOf', 'anyOf', 'allOf', 'not', 'if', '$ref', 'enum', 'const'].some(
    (word) => word in schema,
  );
  if (type !== 'object' || hasAlternatives) return false;
  return Object.keys(isJsonObject(properties) ? properties : {}).every((name) => ARGUMENT_NAME.test(name));
}

/** Turns references to parts of a schema that stood at the top into references to where it lies now. */
function moveReferences(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(moveReferences);
  if (!isJsonObject(value)) return value;
  const moved = Object.entries(value).map(([key, part]): [string, JsonValue] => {
    const isReference = key === '$ref' && typeof part === 'string' && /^#(?:\/|$)/u.test(part);
    return [key, isReference ? `#/properties/${WRAPPED}${part.slice(1)}` : moveReferences(part)];
  });
  return Object.fromEntries(moved);
}
