import type { AgentRequest } from '../contract.ts';

/** What a person said to a question for permission. */
export type PermissionWord = 'allow' | 'always' | 'deny';

/** Reads `yes`, `always`, `no` and their first letters; undefined for anything else. */
export function readPermissionWord(text: string): PermissionWord | undefined {
  const word = text.trim().toLowerCase();
  if (/^a(?:lways)?$/u.test(word)) return 'always';
  if (/^y(?:es)?$/u.test(word)) return 'allow';
  return /^no?$/u.test(word) ? 'deny' : undefined;
}

/**
 * The reason with which a turn waits for a permission: what would be done, how to answer, and the rule that would allow it.
 * Its last word names the deed, so that an answer is about that one and no other.
 */
export function permissionReason(
  role: string,
  shown: string,
  { kinds, paths, fingerprint }: { kinds: readonly string[]; paths: readonly string[]; fingerprint: string },
): string {
  const where = paths.length > 0 ? `, paths: ${JSON.stringify(paths)}` : '';
  const rule = `{ kinds: [${kinds.join(', ')}]${where}, answer: allow }`;
  return (
    `${role} asks for a permission: ${shown}${shown.includes('\n') ? '\n' : '; '}` +
    `answer it with yes or no, or by resuming it at a terminal, or allow it in the agent's config, ` +
    `permissions: { rules: [${rule}] }, and resume; permission ${fingerprint}`
  );
}

/** What a person has just answered to the question for permission with which the role stopped, and about which deed. */
export function answerTo({
  answer,
  question,
  attempt,
}: AgentRequest): { fingerprint: string; word: PermissionWord } | undefined {
  // It is used up in the first try, whatever came of it.
  if (attempt > 0) return undefined;
  const [, fingerprint] = /; permission ([0-9a-f]{16})$/u.exec(question ?? '') ?? [];
  const word = answer === undefined ? undefined : readPermissionWord(answer);
  return fingerprint === undefined || word === undefined ? undefined : { fingerprint, word };
}
