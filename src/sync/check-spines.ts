import type { EngineContext } from '../engine/context.ts';
import { RemoteUnreachable } from '../git/remote-errors.ts';
import type { ObjectId } from '../git/object-id.ts';
import type { Repository } from '../git/repository.ts';
import { NotHereYet } from '../thread/verify/not-here-yet.ts';
import { checkIncoming, type CheckOptions, type IncomingTip, type Verdict } from './check-incoming.ts';
import { boundedObjects } from './bounded-objects.ts';
import { INCOMING_LIMITS } from './incoming-limits.ts';
import { findAbsent, findThreadFiles } from './find-left-out.ts';

/** Brings objects that were left out, in one connection. */
export type Bring = (ids: readonly ObjectId[]) => Promise<void>;

/**
 * Checks threads of which commits and trees have come: brings what it takes to follow them, in one more connection, and
 * checks all that can be checked without what was said and done.
 *
 * That is checked when it is read. A thread that does not pass gets a second look with all its contents, so that none is
 * refused for what rules make of a text that is not here.
 * @param view reads what was brought and what the repository has, and fetches nothing
 * @returns as {@link checkIncoming}
 */
export async function checkSpines(
  context: Pick<EngineContext, 'repository'>,
  view: Repository,
  bring: Bring,
  tips: readonly IncomingTip[],
  options: CheckOptions,
): Promise<Map<string, Verdict>> {
  const here = context.repository.objects;
  const bounded = boundedObjects(view.objects, INCOMING_LIMITS);
  const { spine, contents } = await findThreadFiles(
    bounded,
    tips.map(({ id }) => id),
    (commit) => here.has(commit),
  );
  await bringAll(view, bring, [...spine], tips);
  const objects = leavingOut(view, contents);
  const lenient = { ...options, mayLackFiles: true };
  const verdicts = await checkIncoming(context, { ...view, objects }, tips, lenient);
  const refused = tips.filter(({ ref }) => verdicts.get(ref)?.sound !== true);
  if (refused.length === 0) return verdicts;
  const { contents: wanted } = await findThreadFiles(
    bounded,
    refused.map(({ id }) => id),
    async () => false,
  );
  await bringAll(view, bring, [...wanted], refused);
  const second = await checkIncoming(context, view, refused, lenient);
  return new Map([...verdicts, ...second]);
}

/** Brings what is not here; where one object that a remote lacks keeps the others from coming, thread by thread. */
async function bringAll(
  view: Repository,
  bring: Bring,
  ids: readonly ObjectId[],
  tips: readonly IncomingTip[],
): Promise<void> {
  try {
    await bring(await findAbsent(view.objects, ids));
  } catch (error) {
    if (!(error instanceof RemoteUnreachable)) throw error;
    const wanted = new Set(ids);
    for (const { id } of tips) {
      const files = await findThreadFiles(boundedObjects(view.objects, INCOMING_LIMITS), [id], async () => false);
      const own = [...files.spine, ...files.contents].filter((file) => wanted.has(file));
      // What does not come is missed by the check, which says so.
      await bring(await findAbsent(view.objects, own)).catch((cause: unknown) => {
        if (!(cause instanceof RemoteUnreachable)) throw cause;
      });
    }
  }
}

/** A view in which contents that have not come are known to be left out, and not lost. */
function leavingOut({ objects }: Repository, contents: ReadonlySet<ObjectId>): Repository['objects'] {
  return {
    format: objects.format,
    async read(id, options) {
      const object = await objects.read(id, options);
      if (object === undefined && contents.has(id)) throw new NotHereYet(id);
      return object;
    },
    has: (id) => objects.has(id),
    write: (list) => objects.write(list),
    close: () => objects.close(),
  };
}
