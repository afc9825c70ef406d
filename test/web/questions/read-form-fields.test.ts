import { expect, test } from 'vitest';
import type { JsonObject } from '../../../src/json.ts';
import { formOf, memberOf, readFormFields, rowsOf } from '../../../src/web/questions/read-form-fields.ts';

test('lists in lists are read up to a number of rows of all of them', async () => {
  const list = (items: JsonObject): JsonObject => ({ type: 'array', items });
  const inner = { type: 'object', properties: { name: { type: 'string' } } };
  const middle = { type: 'object', properties: { of: list(inner) } };
  const shape = formOf({ type: 'object', properties: { all: list(middle) } });
  const form = new URLSearchParams();
  form.set(rowsOf('/all'), '1000');
  for (let row = 0; row < 1000; row += 1) {
    const place = memberOf(memberOf('/all', row), 'of');
    form.set(rowsOf(place), '1000');
    form.set(memberOf(memberOf(place, 0), 'name'), 'a');
  }
  let looked = 0;
  const places = new Map(form);
  form.get = (name) => ((looked += 1), places.get(name) ?? null);
  const { value } = await readFormFields(shape!, form);
  expect(value).toMatchObject({ all: expect.arrayContaining([{ of: [{ name: 'a' }] }]) });
  expect(looked).toBeLessThan(13_000);
}, 600_000);
