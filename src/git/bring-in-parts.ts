/**
 * Does with parts of a whole what could not be done with all of it at once: a part that fails is halved. The largest part
 * comes first, so that most of the whole is through early, wherever in it lies what cannot be done.
 *
 * @param bring tells whether a part is done; what it throws ends the search
 * @param mostTries how often it is called at most; parts that are left then are not done
 */
export async function bringInParts<Item>(
  items: readonly Item[],
  mostTries: number,
  bring: (part: readonly Item[]) => Promise<boolean>,
): Promise<void> {
  const waiting: (readonly Item[])[] = halves(items);
  for (let tries = 0; tries < mostTries; tries += 1) {
    const part = waiting.shift();
    if (part === undefined) return;
    if (await bring(part)) continue;
    // Halves are never larger than what waits already, so the largest stays first.
    if (part.length > 1) waiting.push(...halves(part));
  }
}

function halves<Item>(items: readonly Item[]): (readonly Item[])[] {
  const middle = Math.ceil(items.length / 2);
  return [items.slice(0, middle), items.slice(middle)].filter((half) => half.length > 0);
}
