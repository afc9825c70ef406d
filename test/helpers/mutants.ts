import { isJsonObject, type JsonValue } from '../../src/json.ts';

/** Random numbers from 0 to 1, equal for equal seeds. Source: mulberry32. */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A value with one change, and a description of it. */
export type Mutant = { value: JsonValue; change: string };

const others: readonly JsonValue[] = [
  null,
  true,
  7,
  -1,
  1.5,
  1e300,
  '',
  ' ',
  'text',
  [],
  [null],
  ['text'],
  [{}],
  {},
  { odd: 1 },
  { odd: null },
];

/** Variants of a value: each part removed, replaced by a value of every type, or with an unknown key. */
export function* mutantsOf(value: JsonValue): Generator<Mutant> {
  for (const other of others) yield { value: other, change: `${JSON.stringify(other)} here` };
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      for (const { value: part, change } of mutantsOf(item)) {
        yield { value: value.with(index, part), change: `${index}.${change}` };
      }
    }
    return;
  }
  if (!isJsonObject(value)) return;
  yield { value: { ...value, unheardOf: 1 }, change: 'an unknown key' };
  yield { value: { ...value, 'x-own': [1] }, change: 'a free key' };
  for (const [key, part] of Object.entries(value)) {
    const { [key]: _, ...rest } = value;
    yield { value: rest, change: `without ${key}` };
    for (const mutant of mutantsOf(part)) {
      yield { value: { ...value, [key]: mutant.value }, change: `${key}.${mutant.change}` };
    }
  }
}
