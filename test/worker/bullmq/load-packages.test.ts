import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../../../src/git/system/process-identity.ts';
import { loadQueuePackages, RANGES } from '../../../src/worker/bullmq/redis-connection.ts';
import { createTemporaryFolder } from '../../helpers/temporary-repository.ts';

function install(
  folder: string,
  name: string,
  version: string,
  source = `module.exports = { is: '${version}' };`,
): void {
  const place = join(folder, 'node_modules', name);
  mkdirSync(place, { recursive: true });
  writeFileSync(join(place, 'package.json'), JSON.stringify({ name, version, main: 'main.js' }));
  writeFileSync(join(place, 'main.js'), source);
}

test('loads both from the nearest folder above', async () => {
  const good = createTemporaryFolder();
  install(good, 'bullmq', '6.99.0');
  install(good, 'ioredis', '5.9.1');
  const nested = join(good, 'a/b');
  mkdirSync(nested, { recursive: true });
  expect(await loadQueuePackages(nested)).toEqual({ bullmq: { is: '6.99.0' }, ioredis: { is: '5.9.1' } });
});

test('says what to install where one of them is missing, and runs neither', async () => {
  const folder = createTemporaryFolder();
  install(folder, 'bullmq', '6.7.0', "throw new Error('it ran');");
  await expect(loadQueuePackages(folder)).rejects.toMatchObject({
    code: 'queue-package-missing',
    message: "a queue on Redis needs the npm packages 'bullmq' and 'ioredis': 'ioredis' is not installed",
    hint: "install both beside uwf: 'npm install -g bullmq@6 ioredis@6', without '-g' where uwf is a package of a project",
  });
});

test('names the version that is there where it does not fit', async () => {
  const folder = createTemporaryFolder();
  install(folder, 'bullmq', '5.61.0');
  install(folder, 'ioredis', '6.0.0');
  await expect(loadQueuePackages(folder)).rejects.toMatchObject({
    code: 'queue-package-version',
    message: "a queue on Redis needs the npm packages 'bullmq' and 'ioredis': 'bullmq' is 5.61.0, not ^6.7.0",
  });
});

test('a package that cannot be loaded is named with its folder', async () => {
  const folder = createTemporaryFolder();
  install(folder, 'bullmq', '6.7.0', "require('msgpackr');");
  install(folder, 'ioredis', '6.0.0');
  await expect(loadQueuePackages(folder)).rejects.toThrow(
    new RegExp(`^'bullmq' in ${join(folder, 'node_modules/bullmq')} cannot be loaded: Cannot find module 'msgpackr'`),
  );
});

test('the manifest of uwf has the same ranges as optional peers', () => {
  const manifest: unknown = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8'));
  expect(manifest).toMatchObject({
    peerDependencies: RANGES,
    peerDependenciesMeta: { bullmq: { optional: true }, ioredis: { optional: true } },
  });
  expect(manifest).not.toHaveProperty('dependencies');
});
