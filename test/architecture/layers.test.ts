import { existsSync } from 'node:fs';
import { dirname } from 'node:path/posix';
import { describe, expect, test } from 'vitest';
import { readSourceFiles, targetOf } from './source-files.ts';
import type { SourceFile, SourceImport } from './source-files.ts';

/** The house: an import points to a lower number, and rooms on one floor do not know each other. */
const floors: Record<string, number> = {
  text: 0,
  time: 0,
  git: 1,
  redaction: 1,
  cas: 2,
  schema: 3,
  expression: 3,
  workflow: 4,
  thread: 4,
  moderator: 5,
  agent: 5,
  verify: 6,
  engine: 7,
  sync: 8,
  mcp: 9,
  web: 9,
  worker: 9,
  cli: 10,
};

/**
 * The parts of git/: an import points to a lower number, and parts with the same number do not know each other. Every part
 * knows the files beside the parts that are contracts; no part knows the doors, which open a repository.
 */
const partsOfGit: Record<string, number> = {
  format: 1,
  system: 2,
  process: 3,
  repository: 4,
  stores: 5,
  transport: 6,
  worktree: 6,
  maintenance: 6,
};
const contractsOfGit = ['git/repository.ts'];
const doorsOfGit = ['git/open-repository.ts'];

/** Files beside the rooms. They import nothing of a room, but for the public API, which may import anything. */
const ground = ['errors.ts', 'json.ts', 'or-else.ts', 'shape.ts'];
const publicApi = 'index.ts';

/** Deciding and acting take values: of a definition and of a run these rooms see the types only. */
const typesOnly = { rooms: ['moderator', 'agent'], of: ['workflow', 'thread'] };
/** It has three constants beside its types: the names that rules use. */
const definition = 'workflow/definition.ts';

/** Packages that cost a cold start dearly. */
const heavy = [
  '@agentclientprotocol/sdk',
  'ai',
  '@ai-sdk/openai-compatible',
  '@modelcontextprotocol/sdk',
  'ajv',
  'ajv-formats',
  'bullmq',
  'ioredis',
  'isomorphic-git',
  'jsonata',
  'liquidjs',
  'semver',
  'yaml',
];

/** Those of the page. */
const heavyOfWeb = ['@dagrejs/dagre', '@hono/node-server', 'diff', 'hono', 'markdown-it'];
const loadsWeb = /^(?:web\/|cli\/web\/|cli\/commands\/web\.ts$)/;

const files = readSourceFiles();
const names = new Set(files.map((file) => file.name));

/** Rooms whose folders still import each other in circles. */
const roomsWithCircles = ['cli', 'engine', 'git', 'workflow'];

/** Each import of a file of ours, as a pair. */
function edges(): { from: SourceFile; to: string; via: SourceImport }[] {
  return files.flatMap((from) =>
    from.imports.flatMap((via) => {
      const to = targetOf(from.name, via.specifier);
      return to === undefined ? [] : [{ from, to, via }];
    }),
  );
}

function roomOf(name: string): string {
  return name.includes('/') ? name.slice(0, name.indexOf('/')) : '';
}

/** The ways that lead from a name back to it. */
function circlesAmong(ways: readonly (readonly [from: string, to: string])[]): string[] {
  const next = new Map<string, string[]>();
  for (const [from, to] of ways) next.set(from, [...(next.get(from) ?? []), to]);
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (name: string, path: readonly string[]): void => {
    if (path.includes(name)) circles.push([...path.slice(path.indexOf(name)), name].join(' -> '));
    if (path.includes(name) || done.has(name)) return;
    for (const to of new Set(next.get(name))) visit(to, [...path, name]);
    done.add(name);
  };
  for (const name of next.keys()) visit(name, []);
  return circles;
}

describe('the floors', () => {
  test('every folder of the source has a floor', () => {
    expect([...new Set(files.map((file) => file.room))].filter((room) => room !== '' && !(room in floors))).toEqual([]);
  });

  test('every file beside the rooms is known', () => {
    const known = [...ground, publicApi];
    expect(files.filter((file) => file.room === '' && !known.includes(file.name)).map((file) => file.name)).toEqual([]);
  });

  test('every import ends at a file that exists', () => {
    expect(
      edges()
        .filter(({ to }) => !names.has(to) && !existsSync(new URL(`../../src/${to}`, import.meta.url)))
        .map(({ from, to }) => `${from.name} -> ${to}`),
    ).toEqual([]);
  });

  test('an import points to a lower floor or stays in its room', () => {
    const wrong = edges().filter(({ from, to }) => {
      if (from.name === publicApi || from.room === roomOf(to)) return false;
      return (floors[from.room] ?? -1) <= (floors[roomOf(to)] ?? (to === publicApi ? Infinity : -1));
    });
    expect(wrong.map(({ from, to }) => `${from.name} -> ${to}`)).toEqual([]);
  });

  test('moderator and agent know only the types of definitions and runs', () => {
    const wrong = edges().filter(
      ({ from, to, via }) =>
        typesOnly.rooms.includes(from.room) &&
        typesOnly.of.includes(roomOf(to)) &&
        to !== definition &&
        !via.isTypeOnly,
    );
    expect(wrong.map(({ from, to }) => `${from.name} -> ${to}`)).toEqual([]);
  });

  test('in git/, an import points to a lower part or stays in its part', () => {
    const partOf = (name: string): string => name.split('/')[1] ?? '';
    const floorOf = (name: string): number => {
      if (contractsOfGit.includes(name)) return 0;
      return doorsOfGit.includes(name) ? Infinity : (partsOfGit[partOf(name)] ?? Number.NaN);
    };
    const unknown = files.filter(({ name, room }) => room === 'git' && Number.isNaN(floorOf(name)));
    expect(unknown.map(({ name }) => name)).toEqual([]);
    const wrong = edges().filter(({ from, to }) => {
      if (from.room !== 'git' || roomOf(to) !== 'git' || contractsOfGit.includes(to)) return false;
      if (contractsOfGit.includes(from.name)) return partOf(to) !== 'format';
      return partOf(from.name) !== partOf(to) && floorOf(from.name) <= floorOf(to) && !doorsOfGit.includes(from.name);
    });
    expect(wrong.map(({ from, to }) => `${from.name} -> ${to}`)).toEqual([]);
  });

  test('no file imports itself, over however many others', () => {
    expect(circlesAmong(edges().map(({ from, to }) => [from.name, to]))).toEqual([]);
  });

  test('no folder imports itself, over however many others of its room', () => {
    const inRooms = edges().filter(({ from, to }) => from.room === roomOf(to) && from.room !== '');
    const folders = inRooms.map(({ from, to }) => [dirname(from.name), dirname(to)] as const);
    const circles = circlesAmong(folders.filter(([from, to]) => from !== to));
    const rooms = circles.map((circle) => /^[^/ ]+/u.exec(circle)?.[0] ?? '');
    expect(rooms.filter((room) => !roomsWithCircles.includes(room))).toEqual([]);
  });
});

describe('who may do what', () => {
  const outside = (rooms: readonly string[]): SourceFile[] => files.filter((file) => !rooms.includes(file.room));

  test('only git/ knows git', () => {
    const importing = outside(['git']).filter((file) =>
      file.imports.some((found) => found.specifier.startsWith('isomorphic-git')),
    );
    const starting = outside(['git']).filter((file) =>
      /\b(?:spawn|exec|execFile|fork)(?:Sync)?\(\s*['"`]git\b/.test(file.code),
    );
    expect([...importing, ...starting].map((file) => file.name)).toEqual([]);
  });

  test('only what authors of agents have in their tests needs a test runner', () => {
    const isSuite = (name: string): boolean => name.startsWith('agent/contract-suite/');
    const wrong = edges().filter(({ from, to }) => isSuite(to) && !isSuite(from.name));
    const importing = files.filter(
      (file) => !isSuite(file.name) && file.imports.some((found) => found.specifier === 'vitest'),
    );
    expect([...wrong.map(({ from }) => from.name), ...importing.map((file) => file.name)]).toEqual([]);
  });

  test('heavy packages are imported when they are needed, not before', () => {
    const early = files.flatMap((file) => {
      const packages = loadsWeb.test(file.name) ? heavy : [...heavy, ...heavyOfWeb];
      return file.imports
        .filter((found) => !found.isTypeOnly && !found.isDynamic)
        .filter((found) => packages.some((name) => found.specifier === name || found.specifier.startsWith(`${name}/`)))
        .map((found) => `${file.name} -> ${found.specifier}`);
    });
    expect(early).toEqual([]);
  });

  test('the page is loaded by its own command and by programs that embed it alone', () => {
    const others = edges().filter(
      ({ from, to, via }) =>
        to.startsWith('web/') && !loadsWeb.test(from.name) && from.name !== publicApi && !via.isTypeOnly,
    );
    expect(others.map(({ from, to }) => `${from.name} -> ${to}`)).toEqual([]);
  });

  test('a program that embeds uwf loads no package of the page before a page is asked for', () => {
    const atOnce = edges().filter(({ via }) => !via.isTypeOnly && !via.isDynamic);
    const loaded = new Set([publicApi]);
    for (const name of loaded) for (const { from, to } of atOnce) if (from.name === name) loaded.add(to);
    const early = files
      .filter(({ name }) => loaded.has(name))
      .flatMap(({ name, imports }) =>
        imports
          .filter((found) => !found.isTypeOnly && !found.isDynamic)
          .filter(({ specifier }) => heavyOfWeb.some((each) => specifier === each || specifier.startsWith(`${each}/`)))
          .map(({ specifier }) => `${name} -> ${specifier}`),
      );
    expect(early).toEqual([]);
  });

  /** Programs of their own: a process is all they have. One that uwf starts, and what runs in somebody's tests. */
  const programs = (name: string): boolean =>
    name === 'expression/evaluation/evaluator-main.ts' || name.startsWith('agent/contract-suite/');

  test.each([
    ['prints', /\bconsole\.|\bprocess\.(?:stdout|stderr|stdin)\b/],
    ['exits', /\bprocess\.(?:exit|abort|exitCode)\b/],
    ['reads the environment', /\bprocess\.(?:env|argv|cwd\(|chdir\()/],
    ['looks for the home directory', /\bhomedir\b|\bos\.userInfo\b/],
  ])('the library never %s', (_, pattern) => {
    const wrong = outside(['cli']).filter((file) => !programs(file.name) && pattern.test(file.code));
    expect(wrong.map((file) => file.name)).toEqual([]);
  });
});

describe('files', () => {
  test('none is longer than 500 lines', () => {
    expect(files.filter((file) => file.lines > 500).map((file) => `${file.name}: ${file.lines}`)).toEqual([]);
  });

  test('names are in kebab-case and say what is in the file', () => {
    const vague = /^(?:utils?|helpers?|common|manager|misc|types)\.tsx?$/;
    const wrong = files.filter((file) => {
      const segments = file.name.split('/');
      const last = segments.at(-1) ?? '';
      return (
        vague.test(last) || segments.some((segment) => !/^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.tsx?|\.css)?$/.test(segment))
      );
    });
    expect(wrong.map((file) => file.name)).toEqual([]);
  });
});
