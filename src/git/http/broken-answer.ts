/**
 * The other side did not say what the protocol has it say, or stopped in the middle.
 *
 * Stays within this folder: whoever called the remote gets `RemoteUnreachable`, which names the remote.
 */
export class BrokenAnswer extends Error {}
