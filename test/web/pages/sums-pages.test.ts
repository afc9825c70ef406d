import { beforeAll, describe, expect, test } from 'vitest';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { getThread } from '../../../src/thread/find-thread.ts';
import { forkThread } from '../../../src/thread/thread-verbs.ts';
import { registerWorkflow } from '../../../src/workflow/registry/find-workflow.ts';
import { createFixture, reply, scripted, statuses, workflow, type EngineFixture } from '../../engine/engine-fixture.ts';
import { visitorOf, type WebVisitor } from '../../helpers/web-visitor.ts';

const definition = workflow('poem', { writer: statuses('done') }, 'writer > end');
const usage = { inputTokens: 1200, outputTokens: 34, turns: 1, costUsd: 0.25 };

let fixture: EngineFixture;
let visitor: WebVisitor;
let thread: string;

async function page(path: string): Promise<string> {
  const response = await visitor.get(path);
  expect(response.status).toBe(200);
  return response.text();
}

beforeAll(async () => {
  fixture = await createFixture(scripted({ writer: [{ reply: reply('done', 'A <i>poem</i>.'), usage }] }));
  for (const prompt of ['One', 'Two', 'Three']) {
    ({ thread } = await fixture.engine.start({ definition, prompt }));
    await fixture.engine.run(thread);
  }
  visitor = await visitorOf(fixture.repository, { env: { PATH: process.env['PATH'] } });
});

describe('the page of a workflow', () => {
  test('shows roles, runs with their outcomes, durations and cost, for a workflow that only threads have', async () => {
    const shown = await page('/w/poem');
    expect(shown).toContain('only in threads');
    expect(shown).toContain('writer of poem');
    expect(shown).toContain('Of 3 runs that are over');
    expect(shown).toMatch(/Cost<\/th><td class="number">\$0\.2500<\/td><td class="number">\$0\.2500/);
    expect(shown.match(/class="task"/g)).toHaveLength(3);
    const [, hash] = /href="\/w\/([0-9A-Z]{13})"/.exec(shown) ?? [];
    expect(await page(`/w/${hash}`)).toContain('Of 3 runs that are over');
  });

  test('shows what a role needs of a machine', async () => {
    const [writer] = Object.values(definition.roles);
    const roles = { writer: { ...writer, needs: ['gpu', 'docker'] } };
    await registerWorkflow(fixture.repository, { ...definition, name: 'needy', roles });
    expect(await page('/w/needy')).toContain('docker, gpu');
    expect(await page('/w/poem')).not.toContain('What it needs');
  });

  test('shows a registered one with its versions', async () => {
    await registerWorkflow(fixture.repository, { ...definition, name: 'song' });
    await registerWorkflow(fixture.repository, { ...definition, name: 'song', description: 'newer' });
    const shown = await page('/w/song');
    expect(shown).toContain('No thread runs it.');
    expect(shown).toMatch(/Versions <span class="count">2/);
    const list = await page('/w');
    expect(list).toContain('href="/w/song"');
    expect(list).toMatch(/href="\/w\/poem".*?3 threads/s);
  });

  test('says what is wrong with a file, and never follows a path', async () => {
    mkdirSync(join(fixture.dir, '.uwf', 'workflows'), { recursive: true });
    writeFileSync(join(fixture.dir, '.uwf', 'workflows', 'broken.yaml'), 'name: broken\nroles: 3\n');
    writeFileSync(join(fixture.dir, 'secret.yaml'), 'name: secret\n');
    expect(await page('/w/broken')).toContain('class="refusal"');
    for (const path of ['secret.yaml', '..%2Fsecret.yaml', '%2Fetc%2Fpasswd', 'none', '%3Cscript%3E']) {
      expect((await visitor.get(`/w/${path}`)).status).toBe(404);
    }
  });
});

describe('the page of cost', () => {
  test('adds up what threads used by day, workflow, role and agent', async () => {
    const shown = await page('/cost');
    expect(shown).toContain('3 threads began then.');
    for (const id of ['days', 'workflows', 'roles', 'agents']) expect(shown).toContain(`id="${id}"`);
    expect(shown).toContain('poem: writer');
    expect(shown.match(/<td class="number">\$0\.7500<\/td>/g)).toHaveLength(4);
    expect(shown.match(/<td class="number">3,600<\/td>/g)).toHaveLength(4);
    expect(shown).toContain('>script</th>');
  });

  test('counts the threads of its period alone, and ignores a day that is none', async () => {
    expect(await page('/cost?since=2001-01-01&until=2001-01-31')).toContain('0 threads began then.');
    expect(await page('/cost?since=%22%3E&until=x')).toContain('3 threads began then.');
  });
});

describe('the page of two threads', () => {
  test('shows what differs side by side, and a fork leads to it', async () => {
    const other = await createFixture(scripted({ writer: [reply('done', 'One line.\nThe end.')] }));
    const first = await other.engine.start({ definition, prompt: 'p' });
    const fork = await forkThread(other.repository, await getThread(other.repository, first.thread));
    await other.engine.run(first.thread);
    visitor = await visitorOf(other.repository, { env: { PATH: process.env['PATH'] } });
    const shown = await page(`/diff/${first.thread}..${fork.thread}`);
    expect(shown).toContain('Both have 0 steps in common');
    expect(shown).toContain(`data-topic="${first.thread}..${fork.thread}"`);
    expect(shown).toContain('has no step 1');
    expect(shown).toContain('The end.');
    expect(await page(`/t/${fork.thread}`)).toContain(`href="/diff/${first.thread}..${fork.thread}"`);
    expect(await page(`/diff/${first.thread}..${first.thread}`)).toContain('Neither has gone on.');
    expect((await visitor.get('/diff/x')).status).toBe(400);
    expect((await visitor.get(`/diff/${first.thread}..nothing`)).status).toBe(404);
  });
});
