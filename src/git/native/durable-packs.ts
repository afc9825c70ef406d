/**
 * What git is configured to where the packs that it makes take the place of synced ones, or refs will lead into them: it
 * syncs them, also for a user who has told it to leave that out.
 *
 * Source: git-config(1), `core.fsync` and `core.fsyncMethod`. Before git 2.36 packs are synced in any case.
 */
export const durablePacks: readonly string[] = ['-c', 'core.fsync=pack,pack-metadata', '-c', 'core.fsyncMethod=fsync'];
