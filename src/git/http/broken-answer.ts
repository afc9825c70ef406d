/**
 * The other side did not say what the protocol has it say, or stopped in the middle.
 *
 * Stays within this folder: whoever called the remote gets `RemoteUnreachable`, which names the remote.
 */
export class BrokenAnswer extends Error {}

/**
 * The connection was fine, but what came over it cannot be taken in, or the other side cannot send all that it has told of.
 * Less of it may do.
 */
export class IndigestibleAnswer extends BrokenAnswer {}

/** Source: git's upload-pack.c. */
const cannotSend = /not our ref|possible repository corruption on the remote side/;

/** The words with which the other side gives up, as an error. */
export function refusalOf(words: string): BrokenAnswer {
  return cannotSend.test(words) ? new IndigestibleAnswer(words) : new BrokenAnswer(words);
}
