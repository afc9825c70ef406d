import type { Ajv2020, ErrorObject, FuncKeywordDefinition } from 'ajv/dist/2020.js';
import { canonicalJson } from '../cas/canonical.ts';
import type { JsonValue } from '../json.ts';

type Fault = Pick<ErrorObject, 'params' | 'message'>;
type Check = ReturnType<NonNullable<FuncKeywordDefinition['compile']>>;

/**
 * Replaces ajv's `const`, `enum`, `uniqueItems` and `multipleOf` by keywords that compare values as JSON. The errors are those of ajv.
 *
 * Ajv's own comparison calls `valueOf` and `toString` of the values, and throws if a value has a property of such a name. It divides
 * binary fractions, by which 19.99 is no multiple of 0.01.
 */
export function compareAsJson(ajv: Ajv2020): void {
  replace(ajv, 'const', (allowedValue) => {
    const isSame = sameAs(allowedValue);
    const fault = { params: { allowedValue }, message: 'must be equal to constant' };
    return (data) => (isSame(data) ? undefined : fault);
  });
  replace(ajv, 'enum', (allowedValues) => {
    const choices = Array.isArray(allowedValues) ? allowedValues.map(sameAs) : [];
    const fault = { params: { allowedValues }, message: 'must be equal to one of the allowed values' };
    return (data) => (choices.some((isSame) => isSame(data)) ? undefined : fault);
  });
  replace(ajv, 'uniqueItems', (isWanted) => (data) => {
    if (isWanted !== true || !Array.isArray(data)) return undefined;
    const places = new Map<string, number>();
    for (const [i, item] of data.entries()) {
      const text = canonicalJson(item);
      const j = places.get(text);
      const message = `must NOT have duplicate items (items ## ${j} and ${i} are identical)`;
      if (j !== undefined) return { params: { i, j }, message };
      places.set(text, i);
    }
    return undefined;
  });
  replace(ajv, 'multipleOf', (multipleOf) => {
    const unit = Number(multipleOf);
    const fault = { params: { multipleOf }, message: `must be multiple of ${unit}` };
    return (data) => (typeof data !== 'number' || isMultipleOf(data, unit) ? undefined : fault);
  });
}

function sameAs(wanted: JsonValue): (value: JsonValue) => boolean {
  if (typeof wanted !== 'object' || wanted === null) return (value) => value === wanted;
  const text = canonicalJson(wanted);
  return (value) => canonicalJson(value) === text;
}

function replace(
  ajv: Ajv2020,
  keyword: string,
  findFault: (schema: JsonValue) => (data: JsonValue) => Fault | undefined,
): void {
  ajv.removeKeyword(keyword);
  ajv.addKeyword({
    keyword,
    errors: true,
    compile(schema: JsonValue) {
      const find = findFault(schema);
      const check: Check = (data: JsonValue) => {
        const fault = find(data);
        check.errors = [{ keyword, ...fault }];
        return fault === undefined;
      };
      return check;
    },
  });
}

/**
 * Tells whether a number is a multiple of another one, by their decimals, as JSON has them: 19.99 is a multiple of 0.01, although the
 * nearest binary fractions are not.
 */
export function isMultipleOf(value: number, unit: number): boolean {
  // Beyond 2^53 the decimal that JSON has of an integer is rounded, and the integer itself counts as well.
  if (value % unit === 0) return true;
  const [digits, exponent] = decimalOf(value);
  const [unitDigits, unitExponent] = decimalOf(unit);
  const least = Math.min(exponent, unitExponent);
  const scaled = (number: bigint, power: number): bigint => number * 10n ** BigInt(power - least);
  return scaled(digits, exponent) % scaled(unitDigits, unitExponent) === 0n;
}

/** The shortest decimal that stands for a number: its digits, and the power of ten of the last one. */
function decimalOf(number: number): [digits: bigint, exponent: number] {
  const [mantissa = '', exponent] = number.toExponential().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  return [BigInt(whole + fraction), Number(exponent) - fraction.length];
}
