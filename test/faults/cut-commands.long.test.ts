import { cpSync, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  createCliRepository,
  loopWorkflow,
  runCommand,
  scriptedConfig,
  type CliRepository,
  type CommandResult,
} from '../helpers/cli.ts';
import { startCuttingProxy, type CuttingProxy } from '../helpers/cutting-proxy.ts';
import { startGitHttpServer, type Cut } from '../helpers/git-http-server.ts';
import { createTemporaryFolder, expectCleanFsck, runGit } from '../helpers/temporary-repository.ts';

/** How often each command is cut: half of it on the way there, half on the way back. */
const CUTS = Number(process.env['SUITE_COMMAND_CUTS'] ?? 2);

/** Half of them are over, half of them go on. */
const THREADS = 6;

/** The refs of threads, with what they point at. */
function sharedAt(dir: string): string {
  return runGit(dir, ['for-each-ref', '--format=%(refname) %(objectname)', 'refs/threads', 'refs/history']);
}

/** Text that does not become much smaller when it is packed. */
function incompressible(words: number): string {
  let seed = 1;
  const next = (): string => (seed = (seed * 48_271) % 2_147_483_647).toString(36);
  return Array.from({ length: words }, next).join(' ');
}

async function createHome(): Promise<CliRepository> {
  const home = createCliRepository({
    '.uwf/workflows/loop.yaml': loopWorkflow,
    '.uwf/config.yaml': scriptedConfig({
      writer: [`---\n$status: written\nwords: 3\n---\n${incompressible(400)}`],
      checker: ['---\n$status: accepted\n---\nGood'],
    }),
  });
  for (let at = 0; at < THREADS / 2; at += 1) {
    expect(await home.uwf(['run', 'loop', '-p', `task ${at}`])).toMatchObject({ code: 0 });
    await home.json(['thread', 'start', 'loop', '-p', `task ${at}, to go on`]);
  }
  expect(sharedAt(home.dir).split('\n')).toHaveLength(THREADS);
  return home;
}

/** Where uwf is run, and the server that it finds as `origin`. */
type Place = { local: string; server: string };

/** Places that are alike, each to be used up, and the line to their servers. */
class Scene {
  readonly proxy: CuttingProxy;
  /** What {@link sharedAt} says of a place when all has been pushed or fetched. */
  readonly whole: string;
  readonly #root: string;
  readonly #model: Place;
  #places = 0;

  private constructor(root: string, proxy: CuttingProxy, model: Place, whole: string) {
    this.#root = root;
    this.proxy = proxy;
    this.#model = model;
    this.whole = whole;
  }

  /** One with threads on either the local side or the server's. */
  static async create(threadsAre: 'local' | 'there'): Promise<Scene> {
    const root = createTemporaryFolder();
    const home = await createHome();
    const whole = sharedAt(home.dir);
    const [bare, local] = [join(root, 'server.git'), join(root, 'local')];
    runGit(root, ['init', '--quiet', '--bare', bare]);
    runGit(bare, ['config', 'http.receivepack', 'true']);
    if (threadsAre === 'local') cpSync(home.dir, local, { recursive: true });
    else {
      runGit(root, ['init', '--quiet', local]);
      home.git('push', '--quiet', bare, 'refs/threads/*', 'refs/history/*');
    }
    const { port } = new URL((await startGitHttpServer(root)).urlOf(''));
    return new Scene(root, await startCuttingProxy(Number(port)), { local, server: bare }, whole);
  }

  lay(): Place {
    const name = `${(this.#places += 1)}`;
    const place = { local: join(this.#root, name, 'local'), server: join(this.#root, name, 'server.git') };
    cpSync(this.#model.local, place.local, { recursive: true });
    cpSync(this.#model.server, place.server, { recursive: true });
    const url = `http://127.0.0.1:${this.proxy.port}/${name}/server.git`;
    runGit(place.local, ['remote', 'add', 'origin', url]);
    return place;
  }
}

/** Cuts spread over all that goes through the line while a command does its work. */
async function planCuts(scene: Scene, run: (place: Place) => Promise<CommandResult>): Promise<Cut[]> {
  const before = { ...scene.proxy.bytes };
  expect(await run(scene.lay())).toMatchObject({ code: 0 });
  const parts = CUTS / 2;
  return (['up', 'down'] as const).flatMap((direction) => {
    const bytes = scene.proxy.bytes[direction] - before[direction];
    return Array.from({ length: parts }, (_, part): Cut => {
      return { direction, afterBytes: Math.floor(((part + Math.random()) * bytes) / parts) };
    });
  });
}

/** What is left of a transfer where nobody is at work. */
function unfinished({ local }: Place): string[] {
  const incoming = join(local, '.git/uwf/incoming');
  const keeps = readdirSync(join(local, '.git/objects/pack')).filter((name) => name.endsWith('.keep'));
  return [...(existsSync(incoming) ? readdirSync(incoming) : []), ...keeps];
}

describe('a connection that is cut', () => {
  test.each([
    ['push', 'local'],
    ['fetch', 'there'],
  ] as const)(
    `uwf %s, cut ${CUTS} times: nothing lost, nothing half there, and the next one completes`,
    async (command, threadsAre) => {
      const scene = await Scene.create(threadsAre);
      const run = ({ local }: Place): Promise<CommandResult> =>
        runCommand(command === 'push' ? ['push', '--all'] : [command], { cwd: local });
      const near = ({ local, server }: Place): string => (threadsAre === 'local' ? local : server);
      const far = ({ local, server }: Place): string => (threadsAre === 'local' ? server : local);
      for (const cut of await planCuts(scene, run)) {
        const what = `cut ${cut.direction} after ${cut.afterBytes} bytes`;
        const place = scene.lay();
        scene.proxy.cut(cut);
        const torn = await run(place);
        expect(torn, what).toMatchObject(scene.proxy.hasCut ? { code: 1 } : { code: 0 });
        scene.proxy.cut(undefined);
        expect(sharedAt(near(place)), what).toBe(scene.whole);
        expect(['', scene.whole], what).toContain(sharedAt(far(place)));
        expect(unfinished(place), what).toEqual([]);
        for (const dir of [place.local, place.server]) expectCleanFsck(dir);

        expect(await run(place), what).toMatchObject({ code: 0 });
        expect(sharedAt(far(place)), what).toBe(scene.whole);
        expect(unfinished(place), what).toEqual([]);
        for (const dir of [place.local, place.server]) expectCleanFsck(dir);
      }
    },
    1_800_000,
  );
});
