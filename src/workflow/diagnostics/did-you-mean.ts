import { nearestName } from '../../nearest-name.ts';

/** `did you mean 'x'?` for a name that is probably mistyped; otherwise what there is to choose from, as `listNames` has it. */
export function didYouMean(name: string, known: Iterable<string>, most?: number): string | undefined {
  const names = [...known];
  const near = nearestName(name, names);
  if (near !== undefined) return `did you mean '${near}'?`;
  return names.length === 0 ? undefined : `there is ${listNames(names, most)}`;
}

/** `'a', 'b' and 'c'`; long lists are cut. */
export function listNames(names: readonly string[], most = 8): string {
  const shown = names.slice(0, most).map((name) => `'${name}'`);
  const rest = names.length - shown.length;
  if (rest > 0) return `${shown.join(', ')} and ${rest} more`;
  const last = shown.pop() ?? '';
  return shown.length === 0 ? last : `${shown.join(', ')} and ${last}`;
}
