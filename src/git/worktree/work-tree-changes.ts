/** What changed between two observations of a work tree; only what did is there. */
export type WorkTreeChanges = {
  /** What `HEAD` said, before and after. */
  head?: [string, string];
  index?: true;
  /** `paths` has the first of them, as `pathAsText` writes them. */
  files?: { count: number; paths: string[] };
};

/** How many paths a text names. */
const MAX_SHOWN = 5;

/** Says in words what changed. */
export function describeChanges({ head, index, files }: WorkTreeChanges): string {
  const more = files !== undefined && files.count > MAX_SHOWN ? ` and ${files.count - MAX_SHOWN} more` : '';
  return [
    ...(head === undefined ? [] : [`HEAD was ${head[0]} and is ${head[1]}`]),
    ...(index === undefined ? [] : ['the index changed']),
    ...(files === undefined ? [] : [`these files changed: ${files.paths.slice(0, MAX_SHOWN).join(', ')}${more}`]),
  ].join('; ');
}
