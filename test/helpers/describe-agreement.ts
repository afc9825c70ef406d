import type { Ajv, ValidateFunction } from 'ajv';
import { describe, expect, test } from 'vitest';
import type { JsonValue } from '../../src/json.ts';
import { mutantsOf, randomFrom } from './mutants.ts';

/** A published schema, and what uwf itself finds wrong with the same values. */
export type SchemaAndProgram = {
  ajv: Ajv;
  isAccepted: ValidateFunction;
  mistakesIn(value: JsonValue): Promise<string[]>;
  /** Where the two disagree; `undefined` where they agree as far as they have to. */
  disagreement(value: JsonValue): Promise<string | undefined>;
  /** Valid values that are looked at beside the generated ones. */
  given?: readonly JsonValue[];
  generate(random: () => number): JsonValue;
};

/** Tests that a schema and uwf agree on `count` valid values and on some five changes of each. */
export function describeAgreement(what: string, count: number, subject: SchemaAndProgram): void {
  const { ajv, isAccepted, mistakesIn, disagreement, given = [], generate } = subject;

  describe(`${count} generated ${what}`, () => {
    const values = [...given];
    const random = randomFrom(14);
    while (values.length < count) values.push(generate(random));

    test('have no mistakes, for the schema and for uwf', async () => {
      for (const value of values) {
        expect(await mistakesIn(value), JSON.stringify(value)).toEqual([]);
        expect(isAccepted(value), `${ajv.errorsText(isAccepted.errors)} ${JSON.stringify(value)}`).toBe(true);
      }
    });

    test('are refused by both once they are changed', { timeout: 300_000 }, async () => {
      const faults: string[] = [];
      let refused = 0;
      const chance = randomFrom(15);
      for (const value of values) {
        const mutants = [...mutantsOf(value)];
        for (const { value: mutant, change } of mutants.filter(() => chance() < 5 / mutants.length)) {
          const fault = await disagreement(mutant);
          if (fault !== undefined) faults.push(`${change}: ${fault}`);
          if (!isAccepted(mutant)) refused += 1;
        }
      }
      expect(faults).toEqual([]);
      expect(refused).toBeGreaterThan(count * 2);
    });
  });
}
