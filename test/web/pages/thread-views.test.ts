import { beforeAll, describe, expect, test } from 'vitest';
import type { WorkflowDefinition } from '../../../src/workflow/definition.ts';
import { createFixture, reply, scripted, statuses, workflow, type EngineFixture } from '../../engine/engine-fixture.ts';
import { visitorOf, type WebVisitor } from '../../helpers/web-visitor.ts';

const child = workflow('child', { worker: statuses('done') }, 'worker > end');
const isRejected = "$steps[-1].meta.`$status` = 'rejected'";
const definition = workflow(
  'sample',
  { writer: statuses('written'), checker: statuses('rejected', 'good'), builder: statuses('done'), person: {} },
  [
    { from: '__start__', to: 'writer', when: null },
    { from: 'writer', to: 'checker', when: null },
    { from: 'checker', to: 'writer', when: isRejected },
    { from: 'checker', to: 'builder', when: null },
    { from: 'builder', to: 'person', when: null },
    { from: 'person', to: '__end__', when: '$visits("person") > 7' },
    { from: 'person', to: '__end__', when: null },
    { from: '__resume__', to: 'checker', when: null },
  ],
);

let fixture: EngineFixture;
let visitor: WebVisitor;
let thread: string;
const pageOf = async (query: string): Promise<string> => (await visitor.get(`/t/${thread}${query}`)).text();
const runsOf = (page: string): Record<string, string> =>
  Object.fromEntries(
    [...page.matchAll(/<title>([^<]* to [^<]*) \((\d+ times?)\)</g)].map(([, edge, often]) => [edge, often]),
  );

beforeAll(async () => {
  const worker = [reply('done', 'Built.')];
  const checker = [reply('rejected'), reply('rejected'), reply('good')];
  const writer = [reply('written'), reply('written'), reply('written')];
  const config = scripted({ writer, checker, worker });
  config.agents['sub'] = { name: 'sub', package: 'builtin:workflow', config: { workflow: 'child' } };
  config.agents['me'] = { name: 'me', package: 'builtin:human', config: {} };
  Object.assign(config.roles, { builder: 'sub', person: 'me' });
  const resolveWorkflow = (): Promise<WorkflowDefinition> => Promise.resolve(child);
  fixture = await createFixture(config, { resolveWorkflow });
  thread = (await fixture.engine.start({ definition, prompt: 'Make <it>.' })).thread;
  await fixture.engine.run(thread);
  visitor = await visitorOf(fixture.repository);
});

describe('the views of a thread', () => {
  test('are tabs, of which the story is the first, also for names that are none', async () => {
    for (const [query, current] of [
      ['', 'Story'],
      ['?view=nonsense', 'Story'],
      ['?view=timeline', 'Timeline'],
      ['?view=graph', 'Graph'],
    ]) {
      const page = await pageOf(query ?? '');
      expect(page.match(/aria-current="page">[A-Z]\w+/g)).toEqual([`aria-current="page">${current}`]);
      expect(page).toContain(`data-topic="${thread}"`);
      expect(page).not.toMatch(/style=|NaN|undefined/);
    }
  });
});

describe('the timeline of a thread', () => {
  test('has a row for each role and for children, and a link for each bar', async () => {
    const page = await pageOf('?view=timeline');
    expect([...page.matchAll(/<strong>([^<]*)</g)].map(([, name]) => name)).toEqual([
      'writer',
      'checker',
      'builder',
      '1 child thread',
      'person',
    ]);
    const { children, suspension } = await fixture.engine.describe(thread);
    expect(page).toMatch(new RegExp(`href="/t/${children[0]}" class="bar child"`));
    expect(page).toContain(`href="/t/${thread}#${suspension?.suspension}" class="bar wait open"`);
    expect(page.match(/class="bar step"/g)).toHaveLength(7);
    // The same stands in the table: bars, and its head.
    expect(page.match(/<tr>/g)).toHaveLength(7 + 2 + 1);
  });

  test('of earlier steps ends before the step that the address names, and is not live', async () => {
    const page = await pageOf('?view=timeline&before=3');
    expect(page.match(/<title>\d\. \w+/g)).toEqual(['<title>1. writer', '<title>2. checker']);
    expect(page).not.toContain('data-topic');
    expect(page).toContain(`href="/t/${thread}?view=timeline">Newest steps`);
  });
});

describe('the graph of a thread', () => {
  test('shows how often each rule was followed, and who waits', async () => {
    const page = await pageOf('?view=graph');
    expect(runsOf(page)).toMatchObject({
      'start to writer': '1 time',
      'writer to checker': '3 times',
      'checker to writer: rejected': '2 times',
      'checker to builder: otherwise': '1 time',
      'builder to person': '1 time',
      'resume to checker': '0 times',
    });
    expect(page).toMatch(/class="role waits">.*?0 steps, waits/s);
    const newest = (await fixture.engine.describe(thread)).suspension;
    expect(newest?.role).toBe('person');
    expect(page).toMatch(new RegExp(`href="/t/${thread}/[^"/]+" class="role visited"`));
    expect(page).toContain('id="role-person"');
  });

  test('goes on from where it was read, through an end and a resumption', async () => {
    await fixture.engine.resume(thread, { answer: 'Fine.' });
    const ended = await pageOf('?view=graph');
    // Of the rules that can have ended it, the one that did.
    expect(ended).toContain(
      'person to end: $visits(&quot;person&quot;) &gt; 7 (0 times)\nperson to end: otherwise (1 time)',
    );
    expect(ended).not.toMatch(/class="role[^"]* (?:waits|next|at-work)"/);
  });
});
