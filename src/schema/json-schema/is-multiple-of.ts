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
