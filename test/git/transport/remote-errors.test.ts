import { expect, test } from 'vitest';
import { hintAtRefusal } from '../../../src/git/transport/git-output.ts';
import type { Remote } from '../../../src/git/transport/remote.ts';

/** What the hint is made from. */
const origin = { name: 'origin', isConfigured: true } as Remote;

test.each([
  ['deny updating a hidden ref', true],
  ['funny refname', true],
  ['hook declined: only branches and tags', true],
  ['pre-receive hook declined: refs/threads/01K is outside of the allowed namespaces', true],
  ['pre-receive hook declined: closed today; see the wiki', false],
  ['origin has lost the commit of refs/heads/lost, and takes no push before a clone that has it pushes', false],
  ['pre-receive hook declined: the file is larger than 100 MB', false],
  ['update hook declined: ada may not write on Fridays', false],
  ['unpacker error', false],
])('of a remote that says %j, a prefix is named: %s', (reason, isNamed) => {
  expect(hintAtRefusal(origin, reason)?.includes('uwfPrefix') ?? false).toBe(isNamed);
});
