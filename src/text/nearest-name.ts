/**
 * Finds the known name that a mistyped one was most likely meant to be, for "did you mean".
 *
 * Compares by edit distance (Damerau-Levenshtein with adjacent swaps), without case. Returns `undefined` if every name would
 * need changes to more than a third of its letters; two changes are always allowed in names of four letters or more.
 */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  const wanted = name.toLowerCase();
  let best: string | undefined;
  let bestDistance = Math.max(wanted.length < 4 ? 1 : 2, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of known) {
    const found = candidate.toLowerCase();
    // Each letter more or less is a change.
    if (Math.abs(found.length - wanted.length) >= bestDistance) continue;
    const distance = editDistance(wanted, found);
    if (distance < bestDistance && distance < candidate.length) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

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

function editDistance(left: string, right: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (let row = 1; row <= left.length; row++) {
    const current = [row];
    for (let column = 1; column <= right.length; column++) {
      const isSame = left[row - 1] === right[column - 1];
      let cost = Math.min(at(last, column) + 1, at(current, column - 1) + 1, at(last, column - 1) + (isSame ? 0 : 1));
      if (row > 1 && column > 1 && left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1]) {
        cost = Math.min(cost, at(beforeLast, column - 2) + 1);
      }
      current.push(cost);
    }
    beforeLast = last;
    last = current;
  }
  return at(last, right.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Infinity;
}
