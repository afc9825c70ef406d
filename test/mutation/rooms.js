/** The files that are about refs and locks; the others of the disk store are about packs and loose objects. */
const refsAndLocks = /\/[^/]*(?:ref|lock)[^/]*$/;

/**
 * The rooms whose tests are tested: the folders that a mutant may be in, and the tests that have to notice it.
 *
 * `files` chooses among the files of the folders. `without` names tests that would cost more than they notice: a test that starts
 * `uwf` runs the bundle, which has no mutants, and a campaign of many processes takes seconds for each mutant.
 */
export const rooms = [
  { name: 'cas', folders: ['src/cas'], tests: ['test/cas'], without: ['test/cas/lookup/killed-rebuild.test.ts'] },
  { name: 'moderator', folders: ['src/moderator'], tests: ['test/moderator'] },
  {
    name: 'schema',
    folders: ['src/schema'],
    tests: ['test/schema'],
    without: ['test/schema/json-schema/built-in-checks.test.ts'],
  },
  {
    name: 'thread',
    folders: ['src/thread'],
    tests: ['test/thread'],
    // It runs as another user, which a thread of a process cannot.
    without: ['test/thread/remove/refused-removal.test.ts'],
  },
  { name: 'verify', folders: ['src/verify'], tests: ['test/verify'] },
  {
    name: 'leases',
    folders: ['src/engine/leases'],
    tests: ['test/engine/leases'],
    without: ['test/engine/leases/slots.long.test.ts', 'test/engine/leases/child-slots.long.test.ts'],
  },
  { name: 'limits', folders: ['src/engine/limits'], tests: ['test/engine/limits'] },
  { name: 'turn', folders: ['src/engine/turn'], tests: ['test/engine/turn', 'test/engine/recovery'] },
  { name: 'extract', folders: ['src/agent/extract'], tests: ['test/agent/extract'] },
  { name: 'check', folders: ['src/workflow/check'], tests: ['test/workflow/check'] },
  {
    name: 'refs',
    folders: ['src/git/stores', 'src/git/format'],
    files: refsAndLocks,
    tests: ['test/git/stores', 'test/git/format'],
    without: ['test/git/stores/disk/packs.test.ts'],
  },
  { name: 'packs', folders: ['src/git/stores/disk'], files: /\/(?!.*(?:ref|lock))[^/]*$/, tests: ['test/git/stores'] },
];
