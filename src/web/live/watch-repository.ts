import { statSync, watch, type FSWatcher } from 'node:fs';
import { join } from 'node:path';
import type { Repository } from '../../git/repository.ts';
import { orElse } from '../../or-else.ts';

/** Changes that no watcher has told, such as a process that died, are noticed after this time. */
const POLL_MS = 5_000;
/** Changes that come together are told as one. */
const GATHER_MS = 20;

/**
 * Calls back when something may have changed: refs, leases, journals. It says neither what nor whether for certain.
 *
 * Watches folders, and looks by itself every few seconds: a file system may tell nothing.
 */
export function watchRepository(repository: Repository, onChange: () => void): { close(): void } {
  const watched = new Map<string, { watcher: FSWatcher; identity: string }>();
  let gathering: NodeJS.Timeout | undefined;
  const notice = (): void => {
    gathering ??= setTimeout(() => {
      gathering = undefined;
      watchFolders();
      onChange();
    }, GATHER_MS);
  };
  const watchFolders = (): void => {
    for (const folder of foldersOf(repository)) {
      // An error, such as one of permissions, is here in a timer: it would end the server.
      const stat = orElse(() => statSync(folder, { throwIfNoEntry: false }), undefined);
      // A folder that is made again often gets the inode of the one before.
      const identity = stat && `${stat.ino} ${stat.birthtimeMs}`;
      const known = watched.get(folder);
      if (known?.identity === identity) continue;
      // git removes folders of refs that become empty, and makes them again.
      known?.watcher.close();
      watched.delete(folder);
      const watcher = identity === undefined ? undefined : orElse(() => watch(folder, notice), undefined);
      // Where this system allows no more watchers, the poll finds the changes.
      if (watcher !== undefined && identity !== undefined)
        watched.set(folder, { watcher: watcher.on('error', () => {}), identity });
    }
  };
  watchFolders();
  const poll = setInterval(notice, POLL_MS);
  return {
    close() {
      clearInterval(poll);
      clearTimeout(gathering);
      for (const { watcher } of watched.values()) watcher.close();
    },
  };
}

/** Where refs, leases and journals lie. An ended thread leaves `refs/threads`, so the folders of days need no watcher. */
function foldersOf({ location, stateDir }: Repository): string[] {
  if (location === undefined || stateDir === undefined) return [];
  const { commonDir } = location;
  const refs = ['refs', 'refs/threads', 'refs/history'].map((name) => join(commonDir, name));
  return [commonDir, ...refs, stateDir, join(stateDir, 'leases'), join(stateDir, 'journal')];
}
