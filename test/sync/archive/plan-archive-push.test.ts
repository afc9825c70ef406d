import { expect, test } from 'vitest';
import type { Remote } from '../../../src/git/transport/remote.ts';
import { toBringChains } from '../../../src/sync/push-archive.ts';

test.each([
  [
    { name: 'origin', isConfigured: true },
    "git fetch origin '+refs/uwf/archive/ends/*:refs/uwf/remotes/origin/archive/ends/*'",
  ],
  [
    { name: 'host', isConfigured: true, refPrefix: 'refs/heads/uwf/' },
    "git fetch host '+refs/heads/uwf/uwf/archive/ends/*:refs/uwf/remotes/host/archive/ends/*'",
  ],
  [{ name: '../other.git', isConfigured: false }, "git fetch ../other.git 'refs/uwf/archive/ends/*'"],
])('the command that brings the chains of %j writes to tracking refs, if it has any', (remote, command) => {
  // Nothing else of a remote is read.
  expect(toBringChains(remote as Remote)).toBe(command);
});
