import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';

import { buildUwf, createAuthorFolder } from './author-folder.ts';

const agents = readFileSync(join(import.meta.dirname, '../../../fixtures/packages/broken-agents.js'), 'utf8');

let outcomes: Record<string, string>;
let report: string;

beforeAll(() => {
  buildUwf();
  const files = { 'package.json': '{ "type": "module" }', 'broken-agents.test.js': agents };
  ({ outcomes, report } = createAuthorFolder(files).runTests());
});

/** The tests that an agent failed, without its name. */
function failedBy(agent: string): string[] {
  const prefix = `${agent} keeps the contract of agents `;
  const names = Object.keys(outcomes).filter((name) => name.startsWith(prefix));
  expect(names.length, report).toBeGreaterThan(10);
  return names.filter((name) => outcomes[name] !== 'passed').map((name) => name.slice(prefix.length));
}

const replies = 'a turn ends with a reply that the role can be given';
const triesAgain = 'a turn is tried again by the same agent where its reply was not accepted, or waits for a person';
const besideOthers = 'a turn is taken beside others, each in its own folder';
const tells = 'a turn tells events as the contract has them, and none after its reply';
const leaves = 'a turn leaves no process behind, and is not moved by a signal that comes too late';
const prints = 'a turn prints nothing, and leaves the environment and the working directory of uwf as they are';
const abortedBefore = 'a turn that was aborted before it began rejects with the reason and does nothing';
const aborted = 'a turn that is aborted rejects with the reason, and soon nothing of it runs';

test.each<[agent: string, failed: string[]]>([
  ['sound', []],
  ['that is not said to hang', []],
  ['with a version of its own kind', ['the package has a version that is one']],
  ['with a property that nobody explains', ['the package describes every property of its configuration']],
  ['that refuses its own configuration', ['the package accepts its configuration']],
  ['that takes any key', ['the package refuses a key that it does not know, by its name']],
  ['that takes what it should refuse', ['the package refuses the configuration { hang: true }']],
  ['that stores a secret', ['the package has nothing stored with a thread that could be a secret']],
  ['that forgets its front matter', [replies, triesAgain, besideOthers]],
  ['that replies something else', [replies]],
  ['that works once', [triesAgain]],
  ['that works alone', [besideOthers]],
  ['that tells bytes', [tells]],
  ['that goes on telling', [tells, leaves]],
  ['that has a result without a call', [tells]],
  ['that leaves a process', [leaves]],
  ['that leaves a process when it is stopped', [aborted]],
  ['that takes a signal that comes too late', [leaves]],
  ['that prints', [prints]],
  ['that writes to stdout', [prints]],
  ['that changes the environment', [prints]],
  ['that begins before it looks', [abortedBefore]],
  ['that does not stop', [aborted]],
  ['that stops with a reason of its own', [aborted]],
  ['that was said to hang and does not', [aborted]],
])('an agent %s fails exactly what it breaks', (agent, failed) => {
  expect(failedBy(agent)).toEqual(failed);
});

test('an agent without createAgent is told so before any turn', () => {
  expect(failedBy('without createAgent')[0]).toBe('the package exports what makes agents');
});

test('an agent with a schema that is none is told so', () => {
  expect(failedBy('with a type that does not exist')).toContain(
    'the package has a configSchema that is a JSON Schema (2020-12), complete in itself',
  );
});
