import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { getThread } from '../../../src/thread/find-thread.ts';
import { ExportFolder } from '../../../src/web/export/export-folder.ts';
import { exportWeb } from '../../../src/web/export/export-web.tsx';
import { createLoopRepository } from '../../helpers/cli.ts';
import { createTemporaryFolder } from '../../helpers/temporary-repository.ts';
import { createFamily } from './family.ts';

function filesIn(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => name.replaceAll('\\', '/'));
  return entries.filter((name) => statSync(join(folder, name)).isFile()).toSorted();
}

/** Where the links, styles and scripts of a page lead. */
function addressesOf(html: string): string[] {
  return [...html.matchAll(/\b(?:href|src)="([^"]*)"/g)].map(([, address = '']) => address);
}

test('pages lead to each other by files that are there, and to nothing else here', async () => {
  const { uwf, threads } = await createFamily();
  const folder = join(createTemporaryFolder(), 'out');
  const { code, stdout } = await uwf(['web', '--export', folder, threads.caller]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^file:\/\/.*\/index\.html\n$/) });
  const files = filesIn(folder);
  expect(files).toContain(`pages/t.${threads.caller}.html`);
  expect(files).toContain(`pages/t.${threads.child}.html`);
  expect(files).toContain(`pages/t.${threads.child}.1.html`);
  for (const file of files) expect(file).toMatch(/^[\w./-]+$/);
  let count = 0;
  for (const file of files.filter((name) => name.endsWith('.html'))) {
    const html = readFileSync(join(folder, file), 'utf8');
    expect(html).not.toMatch(/<form|http-equiv="refresh"/);
    for (const address of addressesOf(html)) {
      if (address === 'http://roses.example/') continue;
      const [path = '', hash] = address.split('#');
      expect(path).toMatch(/^(?![/\\]|\w+:)/);
      const target = path === '' ? join(folder, file) : join(folder, dirname(file), path);
      expect(existsSync(target), `${file}: ${address}`).toBe(true);
      if (hash !== undefined) expect(readFileSync(target, 'utf8')).toContain(`id="${hash}"`);
      count += 1;
    }
  }
  expect(count).toBeGreaterThan(20);
  const index = readFileSync(join(folder, 'assets/search-index.js'), 'utf8');
  expect(index).toContain(`["pages/t.${threads.child}.html#step-1"`);
});

test('a thread whose ref is damaged does not keep the others from being exported', async () => {
  const { uwf, dir, json } = createLoopRepository();
  const start = async (): Promise<string> =>
    ((await json(['thread', 'start', 'loop', '-p', 'Write'])) as { thread: string }).thread;
  const [sound, damaged] = [await start(), await start()];
  writeFileSync(join(dir, '.git/refs/threads', damaged), 'torn\n');
  const folder = join(createTemporaryFolder(), 'out');
  expect(await uwf(['web', '--export', folder])).toMatchObject({
    code: 0,
    stderr: expect.stringContaining("'uwf doctor' says which"),
  });
  expect(filesIn(folder).filter((file) => file.includes('/t.0'))).toContain(`pages/t.${sound}.html`);
});

test('an export that fails in its last moment says why', () => {
  const path = join(createTemporaryFolder(), 'out');
  const folder = new ExportFolder(path);
  folder.write('index.html', 'x');
  // Another program has put something there.
  writeFileSync(join(path, 'other'), '');
  expect(() => folder.discard()).not.toThrow();
  expect(existsSync(join(path, 'other'))).toBe(true);
});

test('an export has no byte of other threads', async () => {
  const { uwf, threads } = await createFamily();
  const parent = createTemporaryFolder();
  const whole = (folder: string): string =>
    filesIn(folder)
      .map((file) => file + readFileSync(join(folder, file), 'latin1'))
      .join('\n');
  expect((await uwf(['web', '--export', join(parent, 'child'), threads.child])).code).toBe(0);
  const child = whole(join(parent, 'child'));
  expect(child).toContain(threads.child);
  for (const word of [threads.caller, threads.stranger, 'a secret garden', 'Closed by the caller']) {
    expect(child).not.toContain(word);
  }
  expect(child).toContain('called by another thread');
  expect((await uwf(['web', '--export', join(parent, 'caller'), threads.caller])).code).toBe(0);
  const caller = whole(join(parent, 'caller'));
  for (const word of [threads.caller, threads.child, 'Closed by the caller']) expect(caller).toContain(word);
  for (const word of [threads.stranger, 'a secret garden']) expect(caller).not.toContain(word);
  expect((await uwf(['web', '--export', join(parent, 'all')])).code).toBe(0);
  expect(whole(join(parent, 'all'))).toContain('a secret garden');
});

test('secrets are refused, with their places, and nothing is left', async () => {
  const { uwf, threads } = await createFamily();
  const folder = join(createTemporaryFolder(), 'out');
  // What the machine knows to be secret now was none when the thread ran.
  const env = { SOME_API_KEY: 'tulips-in-amsterdam-1638' };
  const refused = await uwf(['web', '--export', folder, threads.caller], { env });
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain('nothing was exported');
  expect(refused.stderr).toMatch(/step 1 .*output\.md/);
  expect(refused.stderr).not.toContain(env.SOME_API_KEY);
  expect(existsSync(folder)).toBe(false);
  expect((await uwf(['web', '--export', folder, threads.caller, '--allow-secrets'], { env })).code).toBe(0);
});

test('an earlier export is replaced, and no other file is', async () => {
  const { uwf, threads } = await createFamily();
  const parent = createTemporaryFolder();
  const folder = join(parent, 'out');
  mkdirSync(folder);
  expect((await uwf(['web', '--export', folder])).code).toBe(0);
  expect((await uwf(['web', '--export', folder, threads.stranger])).code).toBe(0);
  expect(filesIn(folder)).not.toContain(`pages/t.${threads.caller}.html`);
  expect(filesIn(folder)).toContain(`pages/t.${threads.stranger}.html`);
  for (const name of ['pages/mine.html', 'notes.txt']) {
    writeFileSync(join(folder, name), 'mine');
    const { code, stderr } = await uwf(['web', '--export', folder]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(`it has '${name}'`) });
    expect(readFileSync(join(folder, name), 'utf8')).toBe('mine');
    expect((await uwf(['web', '--export', join(parent, `other-${name.length}`), threads.child])).code).toBe(0);
  }
  const link = join(parent, 'link');
  symlinkSync(createTemporaryFolder(), link);
  expect((await uwf(['web', '--export', link])).stderr).toContain('it is a symbolic link');
});

test('an export that is interrupted leaves the earlier one, and nothing else', async () => {
  const { uwf, threads } = await createFamily();
  const folder = join(createTemporaryFolder(), 'out');
  const signal = AbortSignal.abort(new Error('stopped'));
  await uwf(['web', '--export', folder], { signal });
  expect(existsSync(folder)).toBe(false);
  await uwf(['web', '--export', folder, threads.stranger]);
  const before = filesIn(folder);
  await uwf(['web', '--export', folder], { signal });
  expect(filesIn(folder)).toEqual(before);
});

test('an export that is stopped midway leaves the earlier one as it was, or nothing', async () => {
  const { open, threads } = await createFamily();
  const repository = await open();
  const parent = createTemporaryFolder();
  const pointers = [await getThread(repository, threads.caller)];
  const stoppedAfter = async (folder: string, count: number): Promise<void> => {
    const stopping = new AbortController();
    let left = count;
    const onProgress = (): void => {
      left -= 1;
      if (left === 0) stopping.abort(new Error('stopped'));
    };
    const { signal } = stopping;
    const stopped = exportWeb({ repository, threads: pointers, folder, redactor: undefined, onProgress, signal });
    await expect(stopped).rejects.toThrow('stopped');
  };
  await stoppedAfter(join(parent, 'new'), 3);
  expect(existsSync(join(parent, 'new'))).toBe(false);
  const folder = join(parent, 'earlier');
  await exportWeb({
    repository,
    threads: [await getThread(repository, threads.stranger)],
    folder,
    redactor: undefined,
  });
  const contents = (): string[] => filesIn(folder).map((file) => file + readFileSync(join(folder, file), 'latin1'));
  const before = contents();
  await stoppedAfter(folder, 5);
  expect(contents()).toEqual(before);
});

test('what a process left that was killed while it wrote is not shown, and is cleared away by the next export', async () => {
  const { uwf, threads } = await createFamily();
  const folder = join(createTemporaryFolder(), 'out');
  await uwf(['web', '--export', folder, threads.stranger]);
  const index = readFileSync(join(folder, 'index.html'), 'utf8');
  // It is killed here: nothing is finished.
  new ExportFolder(folder).write('index.html', 'half');
  expect(readFileSync(join(folder, 'index.html'), 'utf8')).toBe(index);
  expect((await uwf(['web', '--export', folder, threads.stranger])).code).toBe(0);
  expect(readdirSync(folder).toSorted()).toEqual(['assets', 'index.html', 'pages', 'uwf-export.json']);
});
