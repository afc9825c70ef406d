import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createTemporaryFolder } from '../../helpers/temporary-repository.ts';
import { bundleForBrowser } from './browser-bundle.ts';
import { closeBrowserAfterwards, isWithoutBrowser, openProfile } from './browser-fixture.ts';

const isLeftOut = isWithoutBrowser();
closeBrowserAfterwards();

type Result = { events: string[]; said: string[]; sound: boolean; commits: number; files: [string, string][] };

/** Starts a thread in a repository in memory, takes its steps, and reads and verifies it. */
const program = `
import { createFsFromVolume, Volume } from 'memfs';
import { createEngine, getThread, openPortableRepository, readThread } from './src/index.ts';
import { verifyThread } from './src/verify/verify-threads.ts';
import { rulesOf } from './test/helpers/plot.ts';

const role = {
  description: 'writes', systemPrompt: 'You write.', extractPrompt: '',
  schema: { type: 'object', required: ['$status'], properties: { $status: { enum: ['more', 'done'] } } },
};
const definition = {
  name: 'poem', description: 'writes', roles: { writer: role },
  moderator: rulesOf(['start > writer: Write {{ start.prompt }}', { from: 'writer', to: 'writer', when: '$count($steps) < 2', prompt: 'Go on after: {{ _body }}' }, 'writer > end']),
};
const reply = (status, text) => '---\\n$status: ' + status + '\\n---\\n' + text;
const script = { replies: { writer: [reply('more', 'One'), { suspend: 'And?', reply: reply('done', 'You say {{answer}}') }] } };
const fs = createFsFromVolume(new Volume());

export async function run() {
  const committer = { name: 'Ada', email: 'ada@example.org' };
  const repository = await openPortableRepository({ fs, gitdir: '/repository.git', create: true, committer });
  const config = { agents: { bot: { name: 'bot', package: 'builtin:scripted', config: script } }, roles: {}, defaultAgent: 'bot' };
  const engine = createEngine({ repository, config });
  const { thread } = await engine.start({ definition, prompt: 'a poem' });
  const suspended = await engine.run(thread);
  const over = await engine.resume(thread, { answer: 'two' });
  // Opened once more: what it has is in the files alone.
  const again = await openPortableRepository({ fs, gitdir: '/repository.git' });
  const { head } = await getThread(again, thread);
  const { steps } = await readThread(again, thread, head);
  const said = steps.map(({ commit }) => commit.node.meta.$status);
  const { sound, commits } = await verifyThread({ repository: again }, thread);
  return { events: [suspended.event, over.event], said, sound, commits, files: filesIn('/repository.git') };
}

/** All files with what they have, in base64. */
function filesIn(folder) {
  return fs.readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = folder + '/' + entry.name;
    return entry.isDirectory() ? filesIn(path) : [[path, fs.readFileSync(path, 'base64')]];
  });
}
`;

describe.skipIf(isLeftOut)('the portable store in a browser', () => {
  test('holds a thread that is started, stepped, answered, read and verified there', async () => {
    const script = await bundleForBrowser(program);
    const page = await (await openProfile()).newPage();
    await page.route('http://localhost/**', (route) =>
      new URL(route.request().url()).pathname === '/program.js'
        ? route.fulfill({ contentType: 'text/javascript', body: script })
        : route.fulfill({ contentType: 'text/html', body: '<title>Portable</title>' }),
    );
    await page.goto('http://localhost/');
    const { files, ...result } = (await page.evaluate("import('/program.js').then(({ run }) => run())")) as Result;
    expect(result).toEqual({
      events: ['thread.suspended', 'thread.ended'],
      said: ['more', 'done'],
      sound: true,
      commits: 6,
    });
    // git reads what the browser wrote.
    const folder = createTemporaryFolder();
    for (const [path, content] of files) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), content, 'base64');
    }
    const git = (...argv: string[]): string =>
      execFileSync('git', ['-C', join(folder, 'repository.git'), ...argv], { encoding: 'utf8', stdio: 'pipe' });
    expect(git('fsck', '--strict', '--no-dangling')).toBe('');
    expect(git('log', '--format=%s', '--all')).toMatch(/^writer: You say two$/m);
  });
});
