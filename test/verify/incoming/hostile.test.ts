import { beforeAll, describe, expect, test } from 'vitest';
import { createHostileRemote, type HostileRemote } from '../../sync/hostile-remote.ts';
import { checkAll } from './incoming-fixture.ts';

/** A reason without ids, hashes and byte counts, which differ from run to run. */
function masked(reason: string): string {
  return reason
    .replaceAll(/\b[0-9a-f]{40}\b|\b[0-9a-f]{20,}(?=…)/g, '<id>')
    .replaceAll(/\b[0-9A-HJKMNP-TV-Z]{13}\b/g, '<hash>')
    .replaceAll(/\b[0-9A-HJKMNP-TV-Z]{26}\b/g, '<thread>');
}

describe('a hostile remote', () => {
  let hostile: HostileRemote;
  let faults: Map<string, string>;
  beforeAll(async () => {
    hostile = await createHostileRemote({
      sound: 1,
      largeBytes: 33 * 1024 * 1024,
      garbageRefs: 2,
      endlessRules: false,
      isFetched: false,
    });
    faults = await checkAll(hostile.remote);
  }, 120_000);

  test('has no ref that is refused for another reason, and none that is refused without one', () => {
    const wrong = [...hostile.reasons].filter(([ref, reason]) => !reason.test(faults.get(ref) ?? ''));
    expect(wrong.map(([ref, reason]) => `${ref}: ${faults.get(ref)} is not ${reason}`)).toEqual([]);
    expect([...faults.keys()].filter((ref) => !hostile.reasons.has(ref))).toEqual([]);
  });

  test('is told what is wrong in the same words as ever', () => {
    expect([...new Set([...faults.values()].map(masked))].toSorted()).toMatchInlineSnapshot(`
      [
        "by its id it starts at +010889-08-02T05:31:50.655Z, more than 30 days from now",
        "commit <id>, artifacts/none.md: the index lists it, and the tree does not have it",
        "commit <id>, output.md: object <id> has 25165824 bytes, more than the 16777216 allowed here",
        "commit <id>, output.md: object <id> is corrupt: it has more than 500000 values",
        "commit <id>, output.md: object <id> is corrupt: it is nested more than 500 deep",
        "commit <id>, output.md: two different objects, <id> and <id>, claim to be node <hash>",
        "commit <id>, output.md: what is stored as node <hash> is something else: neither its text nor its JSON has this hash",
        "commit <id>, output.md: what node <hash> links to leads back to it",
        "commit <id>, step.json: /meta/$status must be one of "again", "done"",
        "commit <id>, step.json: /meta/link the link at /meta/link leads nowhere: there is no node <hash>",
        "commit <id>, step.json: it says that rule 4 gave the turn to 'writer'; by the rules it is the turn of 'writer' (rule 1)",
        "commit <id>, step.json: number is 7, by the commits before it has to be 1",
        "commit <id>, step.json: there is no node <hash>",
        "commit <id>, the files of <id>…/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0: it has more than 1000000 files",
        "commit <id>, the files of <id>…/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d: its folders lie more than 100 deep",
        "commit <id>, trace/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/: it lies deeper than 16 folders",
        "commit <id>: commit <id> is not a sound part of a thread: its tree has no index",
        "commit <id>: it is no start and has no parent",
        "commit <id>: it is not UTF-8 without control characters, which could do anything to a terminal",
        "commit <id>: its message says 'Uwf-Status: again' where its nodes say 'Uwf-Status: done'",
        "commit <id>: nothing accounts for its parent <id>",
        "commit <id>: object <id> has 34603008 bytes, more than the 33554432 allowed here",
        "commit <id>: object <id> is corrupt: a tree entry has an unknown mode, or a mode that git no longer writes",
        "commit <id>: object <id> is corrupt: it has more than 2000 parents",
        "commit <id>: object <id> is corrupt: it is a blob, not a commit",
        "commit <id>: object <id> is corrupt: it is a tag, not a commit",
        "commit <id>: object <id> is corrupt: it is a tree, not a commit",
        "it ended on another day than refs/history/2001-01-01/<thread>",
        "refs/history/2026-11-21/<thread> is for threads that ended, and this is a start",
      ]
    `);
  });
});
