import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, type JsonObject } from '../../../src/json.ts';
import { UNEXPECTED } from '../../../src/thread/thread-errors.ts';
import { parseRefName } from '../../../src/git/format/refs.ts';
import type { ExportedCommit, ExportedNode } from '../../../src/thread/export-thread.ts';
import { getThread } from '../../../src/thread/find-thread.ts';
import { Verification } from '../../../src/verify/verification.ts';
import type { EngineFixture } from '../../engine/engine-fixture.ts';
import { createMapRepository } from '../../helpers/map-repository.ts';
import { putTogether, takeApart, type ForgedLine } from '../forge.ts';
import { checkAll } from '../incoming/incoming-fixture.ts';

/** A thread as lines that a forger changes, with what helps to find the nodes. */
export class Forgery {
  readonly lines: ForgedLine[];

  constructor(lines: readonly ForgedLine[]) {
    this.lines = structuredClone([...lines]);
  }

  get nodes(): ExportedNode[] {
    return this.lines.filter((line): line is ExportedNode => 'node' in line);
  }

  /** The payload of the node that is the first to match, which may be changed. */
  payload(matches: (payload: JsonObject) => boolean): JsonObject {
    const found = this.nodes.find(({ payload }) => isJsonObject(payload) && matches(payload));
    if (found === undefined || !isJsonObject(found.payload)) throw new Error('there is no such node');
    return found.payload;
  }

  /** The step of a block, or a role. */
  step(role: string): JsonObject {
    return this.payload((payload) => payload['role'] === role && 'childThreads' in payload);
  }

  /** The start of a branch. */
  start(block: string, key: string): JsonObject {
    return this.payload(({ call }) => isJsonObject(call) && call['block'] === block && call['key'] === key);
  }

  hashOf(payload: JsonObject): string {
    const found = this.nodes.find((line) => line.payload === payload || isDeepStrictEqual(line.payload, payload));
    if (found === undefined) throw new Error('there is no such node');
    return found.node;
  }

  /** The end of a branch. */
  end(block: string, key: string): JsonObject {
    const start = this.hashOf(this.start(block, key));
    return this.payload((payload) => payload['start'] === start && 'outcome' in payload);
  }

  /** The definition of a name; not one of a role alone. */
  workflow(name: string): JsonObject {
    const isWhole = ({ roles }: JsonObject): boolean =>
      isJsonObject(roles) && (name !== 'team' || Object.keys(roles).length > 1);
    return this.payload((payload) => payload['name'] === name && 'moderator' in payload && isWhole(payload));
  }

  /** The commit that has a node. */
  commit(payload: JsonObject): ExportedCommit {
    const hash = this.hashOf(payload);
    const found = this.lines.find((line): line is ExportedCommit => {
      if (!('files' in line)) return false;
      return ['start', 'step', 'end'].some((kind) => line.files[`${kind}.json`] === hash);
    });
    if (found === undefined) throw new Error('there is no such commit');
    return found;
  }
}

/** A thread of an engine, taken apart. */
export async function takeThread({ repository }: EngineFixture, thread: string): Promise<ForgedLine[]> {
  const { id, head } = await getThread(repository, thread);
  return takeApart(repository, id, head);
}

/** What verification says of forged lines. */
export async function findingsOf(lines: readonly ForgedLine[]): Promise<{ found: string[]; refused: string }> {
  const { repository, head } = await putTogether(lines);
  const ref = parseRefName('refs/threads/01KAJK8400ZZZZZZZZZZZZZZZZ');
  const there = createMapRepository(repository.objectMap, new Map([[ref, head]]));
  const { findings } = await new Verification(there).verify(head);
  const found = findings.map(({ what }) => what);
  const refused = (await checkAll(there)).get(ref) ?? '';
  const crash = [...found, refused].find((what) => what.includes(UNEXPECTED));
  if (crash !== undefined) throw new Error(crash);
  return { found, refused };
}
