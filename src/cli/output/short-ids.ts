/** The length of the time in a thread's id. */
const LEAST = 10;

/**
 * Returns a function that shortens an id to a unique prefix.
 * @param all the ids that it is told apart from
 */
export function shortIds(all: readonly string[]): (id: string) => string {
  const sorted = all.toSorted();
  const places = new Map(sorted.map((id, place) => [id, place]));
  return (id) => {
    const place = places.get(id) ?? 0;
    const others = [sorted[place - 1], sorted[place + 1]];
    let length = LEAST;
    while (length < id.length && others.some((other) => other?.startsWith(id.slice(0, length)))) length += 1;
    return id.slice(0, length);
  };
}
