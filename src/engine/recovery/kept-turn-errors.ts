import { messageOf, UwfError } from '../../errors.ts';
import { RedactionFailed } from '../../redaction/redactor.ts';
import type { ThreadId } from '../../thread/thread-id.ts';

/** The choices for a reply that could not be redacted. */
export const HOW_TO_ALLOW = 'it is stored as it was said, or its file is removed and the role runs again';

/** Which turn could not be stored, why, and what has become of it. */
type NotStored = {
  thread: ThreadId;
  role: string;
  cause: unknown;
  /** Where it is kept, or could not be kept. */
  path: string | undefined;
  /** The agent's reply, if it could not be kept; `undefined` if it is kept. */
  said: string | undefined;
};

/**
 * An agent has finished its turn and it could not be stored: this machine keeps it, or the message holds it.
 *
 * `code` and `kind` are those of the error that kept it from being stored.
 */
export class ReplyNotStored extends UwfError {
  declare readonly thread: ThreadId;

  constructor({ thread, role, cause, path, said }: NotStored) {
    const known = cause instanceof UwfError ? cause : undefined;
    const reason = messageOf(cause);
    const isKept = said === undefined;
    const fate = isKept
      ? `it is kept in ${path}`
      : `it could not be kept in ${path ?? 'memory'} either, and this is what it said:\n${said}`;
    const verb = cause instanceof RedactionFailed ? `resume ${thread} --allow-secrets` : `run ${thread}`;
    const next = isKept ? `'uwf thread ${verb}' stores it then, and no agent runs again for it` : undefined;
    super(`the reply of ${role} in thread ${thread} could not be stored: ${reason}; ${fate}`, {
      code: known?.code ?? 'reply-not-stored',
      kind: known?.kind ?? 'environment',
      hint: [known?.hint, next].filter(Boolean).join('; ') || undefined,
      cause,
      facts: { thread, role, path, isKept },
    });
  }
}

/** The file of a kept turn is not as it was written, or a newer uwf wrote it. */
export function keptTurnDamaged(thread: ThreadId, path: string): UwfError {
  return new UwfError(`the finished reply that is kept for thread ${thread} in ${path} cannot be read`, {
    code: 'kept-turn-damaged',
    kind: 'data',
    hint: `read what is left of it, then remove ${path}: the role runs again after that`,
    facts: { path },
  });
}
