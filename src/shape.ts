import { isJsonObject } from './json.ts';

/** Tells whether a value that was read has the form that is expected of it. */
export type Shape<T> = (value: unknown) => value is T;

export const isString: Shape<string> = (value) => typeof value === 'string';

export const isNumber: Shape<number> = (value) => typeof value === 'number';

/** A string that passes a further check. */
export function stringThat<T extends string>(is: (text: string) => text is T): Shape<T> {
  return (value): value is T => typeof value === 'string' && is(value);
}

export function oneOf<T extends string>(values: readonly T[]): Shape<T> {
  return (value): value is T => values.some((each) => each === value);
}

export function arrayOf<T>(is: Shape<T>): Shape<T[]> {
  return (value): value is T[] => Array.isArray(value) && value.every(is);
}

/** An object whose members, whatever their names, all have one form. */
export function recordOf<T>(is: Shape<T>): Shape<Record<string, T>> {
  return (value): value is Record<string, T> => isJsonObject(value) && Object.values(value).every(is);
}

/** An object with these members. Those in `mayBe` may be absent; other members are allowed. */
export function objectOf<T extends object>(members: { [Key in keyof T]-?: MemberShape<T, Key> }): Shape<T> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `Object.entries` forgets the types of the values.
  const shapes = Object.entries(members) as [string, Member][];
  return (value): value is T =>
    isJsonObject(value) &&
    shapes.every(([name, member]) =>
      typeof member === 'function' ? member(value[name]) : value[name] === undefined || member.mayBe(value[name]),
    );
}

type Member = Shape<unknown> | { mayBe: Shape<unknown> };

type MemberShape<T, Key extends keyof T> = undefined extends T[Key]
  ? { mayBe: Shape<Exclude<T[Key], undefined>> }
  : Shape<T[Key]>;
