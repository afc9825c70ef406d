import { expect, test } from 'vitest';
import { Verification } from '../../src/verify/verification.ts';
import { checkAll } from './incoming/incoming-fixture.ts';
import { forge, forgeries, growThreads, oneOf, remoteWith } from './forgeries.ts';

const { repository, threads } = await growThreads(40);

/** What a forger does who works every hash and id out anew, and the words by which it is told. */
const told: [name: string, words: RegExp][] = [
  ['another role', /by the rules it is the turn of/],
  ['a role that there is not', /the workflow has no role 'ghost'/],
  ['another rule', /it says that rule 2 gave the turn to '\w+'; by the rules/],
  ['a status that leads elsewhere', /its message says that \w+ is next; by the rules/],
  ['meta that its schema forbids', /\/meta\/\$status must be one of "again", "done"/],
  ['another number', /step.json: number is \d, by the commits before it has to be/],
  ['no step before', /step.json: previous is null, by the commits before/],
  ['fewer ancestors', /step.json: ancestors is , by the commits before/],
  ['a field that there is not', /does not have the form of a thread-step node/],
  ['another agent', /its author is \w+ <robot@uwf>, not \w+ <forger@uwf>/],
  ['another duration', /its message says 'Uwf-Duration: 1.5s' where its nodes say 'Uwf-Duration: 6.5s'/],
  ['other usage', /its message says 'Uwf-Tokens: \d+' where its nodes say 'Uwf-Tokens: 7784'/],
  ['a child thread that was none', /no parent of it is \w+, which its node asks for/],
  ['another depth', /start.json: depth is 2, by its caller it has to be 1/],
  ['no caller', /start.json: parentState is \w+, by its caller it has to be null/],
  ['another id of a child', /start.json: id is 01KTWEWZ760000000000000000, by its caller/],
  ['another key of a call', /start.json: id is \w+, by its caller/],
  ['another ordinal of a call', /start.json: id is \w+, by its caller/],
  ['another caller of a call', /start.json: id is \w+, by its caller/],
  ['a call that nobody made', /it is a call, and there is no caller/],
  ['another caller role', /its child thread \w+ was not called by \w+ from the state before it/],
  ['a start at another time', /its author date is .*, its node's time is/],
  ['another outcome', /a cancelled thread returns 130, not 0/],
  ['another return code', /end.json: returnCode 0 is false, by the commits before/],
  ['no last step', /end.json: lastStep is null, by the commits before/],
  ['another reason to wait', /suspend.json: it says that rule \d gave the turn to/],
  ['a wait after another step', /suspend.json: previous is null, by the commits before/],
  ['an answer to something else', /resume.json: suspension is \w+, by the commits before|no parent of it is/],
  ['an answer left out', /it stands on a suspension that was not resumed/],
  ['a date that no id can hold', /its date is later than the id of a thread can hold/],
  ['another rule in the workflow', /by the rules it is the turn of 'writer' \(rule 2\)/],
  ['a schema of a role that never ends', /refers to itself without going into the value, which never ends/],
  ['a trace that is none', /\/react the link at \/react has to lead to react-session/],
  ['a compaction that is not there', /compact.md: it is missing; it has to be node/],
  ['a child thread twice', /it names a child thread twice/],
  ['a reply that refers to what was not put', /it refers to \w+, which is not among its artifacts, or twice/],
  ['a trace of another role', /it is the trace of another role or agent/],
  ['a trace of another agent', /it is the trace of another role or agent/],
  ['a trace that took more tokens', /its turns took \d+ tokens in all/],
  ['a wrong node in a trailer', /its message says 'Uwf-Node: _\w+' where its nodes say 'Uwf-Node:/],
  ['a wrong type in a trailer', /its message says 'Uwf-Type: content' where its nodes say 'Uwf-Type: thread-/],
  ['a wrong role in a trailer', /its message says 'Uwf-Role: ghost' where its nodes say/],
  ['a trailer more', /its message says 'Uwf-Status: approved' where its nodes say ''/],
  ['a trailer less', /where its nodes say 'Uwf-Duration: 1.5s'/],
  ['another role that is next', /its message says that ghost is next; by the rules/],
  ['no trailers', /its message says '' where its nodes say 'Uwf-Node:/],
  ['another author', /its author is ghost <robot@uwf>, not/],
  ['another date', /its committer date is .*, its node's time is/],
  ['an artifact that nothing names', /artifacts\/\w+.md: nothing accounts for a file of this name/],
  ['a parent twice', /it names a parent twice/],
  ['a file less', /it is missing; it has to be node|none of .* holds node/],
  ['a file more', /extra.md: nothing accounts for a file of this name/],
  ['a file in the place of another', /output.md: it is node \w+, the commit's node says/],
  ['two files of a trace exchanged', /trace\/001\/input.md: it is node \w+, the commit's node says/],
  ['a file under another name', /nothing accounts for a file of this name|it has none/],
  ['a part of a trace under two names', /trace\/001\/parts\/1-\w+.md: nothing accounts for a file of this name/],
  ['a step left out', /step.json: number is \d, by the commits before/],
  ['a parent more', /nothing accounts for its parent/],
  ['a parent less', /no parent of it is \w+, which its node asks for/],
];

test('each forgery has words', () => {
  expect(told.map(([name]) => name).toSorted()).toEqual(Object.keys(forgeries).toSorted());
});

test.each(told)('%s is found, and taken in by no fetch', async (name, words) => {
  for (let tries = 0; tries < 200; tries++) {
    const thread = oneOf(threads);
    const forged = await forge(repository, thread, name);
    if (forged === undefined) continue;
    const { findings } = await new Verification(forged.repository).verify(forged.head);
    expect(findings.map(({ path, what }) => `${path}: ${what}`).join('\n')).toMatch(words);
    expect((await checkAll(remoteWith(forged.repository, thread.id, forged.head))).size).toBe(1);
    return;
  }
  expect.unreachable('there is nothing to forge');
});
