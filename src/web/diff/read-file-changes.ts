import type { EngineContext } from '../../engine/engine-context.ts';
import { ObjectTooLarge } from '../../git/format/object-errors.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { readBlob, readCommit } from '../../git/stores/read.ts';
import type { FileContents } from '../../git/process/revisions.ts';
import { diffContents, filesOfStep, findRecordedBefore } from '../../thread/step-files.ts';
import type { CommitOf } from '../../thread/thread-state.ts';
import { plural } from '../../format-time.ts';
import { lineHunks, type DiffHunk } from './line-diff.ts';

type Step = CommitOf<'step'>;

/** A file that differs: the lines, or why they are not shown. */
export type ShownFile = Omit<FileContents, 'oldId' | 'newId'> & { hunks: DiffHunk[]; notShown?: string };

/** The files that differ, as far as a page has room for them. */
export type FileChanges = {
  files: ShownFile[];
  /** How many more there are. */
  others: number;
  /** What was compared: trees of git. */
  from: ObjectId;
  to: ObjectId;
};

/** What a step did to the files. */
export type StepChanges = FileChanges & {
  /** With which step it was compared, or with which commit, for the first step that recorded its files. */
  base: { step: number } | { commit: ObjectId };
  /** False where some files could not be recorded. */
  isWhole: boolean;
};

const MAX_FILES = 200;
const MAX_FILE_BYTES = 256 * 1024;
const MAX_FILE_LINES = 500;
/** Of all files together. */
const MAX_LINES = 2_000;

/**
 * Reads how the files that a step left differ from those of the newest step before it that recorded them, or from the commit
 * that was checked out; `undefined` if the step recorded none, or there is nothing to compare them with.
 */
export async function readStepChanges(engine: EngineContext, step: Step): Promise<StepChanges | undefined> {
  const { repository } = engine;
  const files = await filesOfStep(repository, step);
  if (files === undefined || repository.location === undefined) return undefined;
  const earlier = await findRecordedBefore(repository, step);
  const before = earlier && (await filesOfStep(repository, earlier));
  const base = earlier && before ? { step: earlier.node.number } : files.commit && { commit: files.commit };
  if (base === undefined) return undefined;
  const from = before?.tree ?? (await readCommit(repository.objects, files.commit ?? step.id)).tree;
  const changes = await readFileChanges(engine, from, step);
  return changes && { ...changes, base, isWhole: files.isWhole };
}

/**
 * Reads how the files that a step left differ from those of a tree; `undefined` if the step recorded none.
 */
export async function readFileChanges(
  { repository, env }: EngineContext,
  from: ObjectId,
  step: Step,
): Promise<FileChanges | undefined> {
  const [changed, to] = [await diffContents(repository, env, from, step), await filesOfStep(repository, step)];
  if (changed === undefined || to === undefined) return undefined;
  const files: ShownFile[] = [];
  let room = MAX_LINES;
  for (const file of changed.slice(0, MAX_FILES)) {
    const shown = await showFile(repository, file, room);
    room -= countLines(shown.hunks);
    files.push(shown);
  }
  return { files, others: changed.length - files.length, from, to: to.tree };
}

async function showFile(
  repository: Repository,
  { oldId, newId, ...file }: FileContents,
  room: number,
): Promise<ShownFile> {
  const { added, deleted } = file;
  if (oldId === null && newId === null) return { ...file, hunks: [], notShown: 'a repository of its own' };
  if (added === null || deleted === null) return { ...file, hunks: [], notShown: 'not text' };
  if (oldId === newId) return { ...file, hunks: [] };
  if (room <= 0) return { ...file, hunks: [], notShown: 'the page is full' };
  const [before, after] = [await readText(repository, oldId), await readText(repository, newId)];
  if (before === undefined || after === undefined) return { ...file, hunks: [], notShown: 'too large for a page' };
  const hunks = lineHunks(before, after);
  if (hunks === undefined) return { ...file, hunks: [], notShown: 'too much differs for a page' };
  return { ...file, ...firstLines(hunks, Math.min(room, MAX_FILE_LINES)) };
}

/** The text of a side; '' where there is no file, `undefined` for one that is too large. */
async function readText({ objects }: Repository, id: ObjectId | null): Promise<string | undefined> {
  if (id === null) return '';
  try {
    return new TextDecoder().decode(await readBlob(objects, id, { maxBytes: MAX_FILE_BYTES }));
  } catch (error) {
    if (error instanceof ObjectTooLarge) return undefined;
    throw error;
  }
}

function firstLines(hunks: readonly DiffHunk[], room: number): Pick<ShownFile, 'hunks' | 'notShown'> {
  const first: DiffHunk[] = [];
  let left = room;
  for (const { lines } of hunks) {
    if (left > 0) first.push({ lines: lines.slice(0, left) });
    left -= lines.length;
  }
  return left >= 0 ? { hunks: first } : { hunks: first, notShown: plural(-left, 'more line') };
}

function countLines(hunks: readonly DiffHunk[]): number {
  return hunks.reduce((sum, { lines }) => sum + lines.length, 0);
}
