import type { GitEnvironment } from '../git-directory.ts';
import type { ObjectFormat } from '../object-id.ts';
import type { RepositoryLocation } from '../repository.ts';
import { NativeObjectStore } from './native-object-store.ts';
import { NativeRefStore } from './native-ref-store.ts';

export type NativeStoreOptions = {
  /** What git inherits. */
  env: GitEnvironment;
  /** Which hash names the repository's objects. */
  format: ObjectFormat;
  /** How long somebody else's lock is waited for; default: 10 s. */
  lockTimeoutMs?: number;
};

const defaultLockTimeoutMs = 10_000;

/** The two stores of a repository, as git itself serves them. */
export type NativeStores = { objects: NativeObjectStore; refs: NativeRefStore; close(): Promise<void> };

/** Opens both stores over git itself. No process is started before one is needed; `close` waits for their end. */
export function openNativeStores(location: RepositoryLocation, options: NativeStoreOptions): NativeStores {
  const { env, format, lockTimeoutMs = defaultLockTimeoutMs } = options;
  const objects = new NativeObjectStore(location, env, format);
  const refs = new NativeRefStore(location, env, format, lockTimeoutMs);
  return {
    objects,
    refs,
    close: async () => {
      await Promise.all([objects.close(), refs.close()]);
    },
  };
}
