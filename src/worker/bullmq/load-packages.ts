import { createRequire } from 'node:module';
import { join } from 'node:path';
import type * as bullmq from 'bullmq';
import type * as ioredis from 'ioredis';
import { findPackage } from '../../agent/load/find-package.ts';
import { satisfiesRange } from '../../agent/load/version-range.ts';
import { UwfError, messageOf } from '../../errors.ts';
import { packageRoot } from '../../package-root.ts';

/** The packages that only a queue on Redis needs. uwf has them as optional peers, so they are not installed with it. */
export type QueuePackages = { bullmq: typeof bullmq; ioredis: typeof ioredis };

/** The versions that the tests pass with; the same as under `peerDependencies` of package.json. */
export const RANGES = { bullmq: '^6.7.0', ioredis: '^5.9.0 || ^6.0.0' };

const INSTALL =
  "install both beside uwf: 'npm install -g bullmq@6 ioredis@6', without '-g' where uwf is a package of a project";

/**
 * Loads BullMQ and ioredis from the `node_modules` of uwf or above.
 *
 * Both are checked before either runs: without ioredis a worker of BullMQ tries to connect in a loop that never pauses.
 * @param from the folder to begin with; its code runs
 * @throws {UwfError} `queue-package-missing` or `queue-package-version`, with what to install
 */
export async function loadQueuePackages(from: string = packageRoot()): Promise<QueuePackages> {
  const places = { bullmq: await findIn(from, 'bullmq'), ioredis: await findIn(from, 'ioredis') };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the versions are those whose declarations were compiled with.
  return { bullmq: load('bullmq', places.bullmq), ioredis: load('ioredis', places.ioredis) } as QueuePackages;
}

async function findIn(from: string, name: keyof typeof RANGES): Promise<string> {
  const found = findPackage(name, from);
  if (found && (await satisfiesRange(found.version, RANGES[name]))) return found.folder;
  const fault = found ? `'${name}' is ${found.version}, not ${RANGES[name]}` : `'${name}' is not installed`;
  throw new UwfError(`a queue on Redis needs the npm packages 'bullmq' and 'ioredis': ${fault}`, {
    code: found ? 'queue-package-version' : 'queue-package-missing',
    kind: 'environment',
    hint: INSTALL,
    facts: { package: name, range: RANGES[name] },
  });
}

function load(name: string, folder: string): unknown {
  try {
    return createRequire(join(folder, 'package.json'))(folder);
  } catch (error) {
    throw new UwfError(`'${name}' in ${folder} cannot be loaded: ${messageOf(error)}`, {
      code: 'queue-package-missing',
      kind: 'environment',
      hint: INSTALL,
    });
  }
}
