import { existsSync } from 'node:fs';
import { join } from 'node:path';

import type { Repository } from '../../git/repository.ts';
import { hintAtRefusal } from '../../git/transport/git-output.ts';
import type { Remote } from '../../git/transport/remote.ts';
import type { PushReport } from '../../sync/report.ts';
import type { Left } from '../errors/exit-code.ts';
import type { Output } from '../output/output.ts';

/** Sorts what a push did not send: refused here, refused by the remote, or undecided. */
export function leftOf({ held, rejected }: PushReport): Required<Left> {
  const left: Record<keyof Left, object[]> = { refused: [], refusedThere: [], undecided: [] };
  for (const each of [...held, ...rejected]) {
    const mustStay = each.isUnsound === true || each.secrets !== undefined || 'commits' in each;
    if (mustStay) left.refused.push(each);
    else if ('isRefusedThere' in each) left.refusedThere.push(each);
    else left.undecided.push(each);
  }
  return left;
}

/** Says what can be done about threads that were held because they must not leave, and about what the remote refused. */
export function hintAtHeldBack(
  { held, rejected }: PushReport,
  { repository, remote, withCommits }: { repository: Repository; remote: Remote; withCommits: boolean },
  out: Output,
): void {
  if (!withCommits && held.some(({ commits }) => commits !== undefined)) {
    const along = '--with-commits, which publishes them and all commits before them';
    out.hint(`push those commits first ('git push'), or give ${along}`);
  }
  const [first] = held.filter(({ secrets }) => secrets !== undefined);
  if (first !== undefined) {
    const code = new Set(first.commits?.map(({ commit }) => commit));
    const isInCode = first.secrets?.some(({ commit }) => code.has(commit)) === true;
    out.hint(
      isInCode
        ? 'the thread stands on a commit of your code that has the secret, and uwf rewrites no code: change the secret, then --allow-secrets sends it'
        : `'uwf thread redact ${first.thread}' takes secrets out of a thread; --allow-secrets sends them as they are`,
    );
  } else if (rejected.some(({ secrets }) => secrets !== undefined)) {
    out.hint('take the secret out of the workflow and register it again under another name, or give --allow-secrets');
  }
  const { location } = repository;
  const isShallow = location !== undefined && existsSync(join(location.commonDir, 'shallow'));
  const refusedThere = rejected.find(({ isRefusedThere }) => isRefusedThere);
  if (refusedThere !== undefined) {
    const unshallow =
      "this clone is shallow, and the remote may lack what was cut off: 'git fetch --unshallow' brings it here";
    const hint = isShallow ? unshallow : hintAtRefusal(remote, refusedThere.reason);
    if (hint !== undefined) out.hint(hint);
  }
  const [stuck] = held.flatMap(({ remedy = [] }) => remedy);
  if (stuck !== undefined) out.hint(stuck);
  if (held.some(({ isUnsound }) => isUnsound)) {
    out.hint("'uwf thread verify <thread>' says all that is wrong; 'uwf thread rm <thread> --force' removes it");
  }
}
