import { UwfError } from '../../errors.ts';
import { hintAtRefusal } from '../../git/transport/remote-errors.ts';
import type { Remote } from '../../git/transport/remote.ts';

export function claimsRefused(remote: Remote, reason: string): UwfError {
  const hint = hintAtRefusal(remote, reason);
  return new UwfError(`${remote.name} takes no claims of threads: ${reason}`, {
    code: 'claims-refused',
    kind: 'refused',
    ...(hint !== undefined && { hint }),
  });
}

export function claimsMove(remote: Remote): UwfError {
  return new UwfError(`workers change the claims at ${remote.name} all the time`, {
    code: 'claims-move',
    kind: 'conflict',
    hint: 'try again',
  });
}
