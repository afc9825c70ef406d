/** What changed between two observations of a work tree; only what did is there. */
export type WorkTreeChanges = {
  /** What `HEAD` said, before and after. */
  head?: [string, string];
  index?: true;
  /** `paths` has the first of them, as `pathAsText` writes them. */
  files?: { count: number; paths: string[] };
};

/** What changed outside of a thread's own work tree: in the main one, and in another one that the command was given in. */
export type OutsideChanges = { main?: WorkTreeChanges; given?: WorkTreeChanges };

/** How many paths a text names. */
const MAX_SHOWN = 5;

/** Says in words what changed during the turn of a role, and where. {@link isOfOutside} recognises the text. */
export function describeOutside(role: string, { main, given }: OutsideChanges): string {
  return [
    ...(main === undefined ? [] : [`${beginning('main work tree', role)}${describeChanges(main)}`]),
    ...(given === undefined ? [] : [`${beginning('work tree of the command', role)}${describeChanges(given)}`]),
  ].join('; ');
}

/** Tells whether a text is one of {@link describeOutside}. */
export function isOfOutside(role: string, text: string): boolean {
  return ['main work tree', 'work tree of the command'].some((which) => text.startsWith(beginning(which, role)));
}

function beginning(which: string, role: string): string {
  return `the ${which} changed during the turn of ${role}: `;
}

function describeChanges({ head, index, files }: WorkTreeChanges): string {
  const more = files !== undefined && files.count > MAX_SHOWN ? ` and ${files.count - MAX_SHOWN} more` : '';
  return [
    ...(head === undefined ? [] : [`HEAD was ${head[0]} and is ${head[1]}`]),
    ...(index === undefined ? [] : ['the index changed']),
    ...(files === undefined ? [] : [`these files changed: ${files.paths.slice(0, MAX_SHOWN).join(', ')}${more}`]),
  ].join('; ');
}
