import { diffLines, structuredPatch } from 'diff';
import type { EngineContext } from '../../engine/engine-context.ts';
import { plural } from '../../text/wording.ts';
import { ObjectTooLarge } from '../../git/format/errors.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { FileContents } from '../../git/process/revisions.ts';
import type { Repository } from '../../git/repository.ts';
import { readBlob, readCommit } from '../../git/stores/read.ts';
import { diffContents, filesOfStep, findRecordedBefore } from '../../thread/step-files.ts';
import type { CommitOf } from '../../thread/thread-state.ts';
import type { Html } from './page.tsx';

/** Files with more lines than this together are folded. */
const OPEN_LINES = 400;

/** Files that differ, each with its lines; and how to get what is not shown. */
export function FileChangesPanel({ changes }: { changes: FileChanges }): Html {
  const { files, others, from, to } = changes;
  if (files.length === 0) return <p>No file differs.</p>;
  let lines = 0;
  return (
    <>
      {files.map((file) => {
        lines += file.hunks.reduce((sum, hunk) => sum + hunk.lines.length, 0);
        return <File file={file} isOpen={lines <= OPEN_LINES} />;
      })}
      {(others > 0 || files.some(({ notShown }) => notShown)) && (
        <p class="quiet">
          {others > 0 && `${plural(others, 'more file')} differ. `}All of it: <code>{`git diff ${from} ${to}`}</code>
        </p>
      )}
    </>
  );
}

function File({ file, isOpen }: { file: ShownFile; isOpen: boolean }): Html {
  const { change, path, oldPath, added, deleted, hunks, notShown, oldMode, newMode } = file;
  const isModeChanged = change === 'modified' && oldMode !== newMode;
  return (
    <details class="file" open={isOpen}>
      <summary>
        <span class="change">{change}</span>{' '}
        <span class="path">{oldPath === undefined ? path : `${oldPath} → ${path}`}</span>{' '}
        {added !== null && (
          <span class="lines">
            <span class="plus">+{added}</span> <span class="minus">−{deleted}</span>
          </span>
        )}
      </summary>
      {isModeChanged && (
        <p class="quiet">
          mode {oldMode} → {newMode}
        </p>
      )}
      {hunks.length > 0 && (
        <pre class="diff">
          {hunks.map(({ lines }, index) => (
            <>
              {index > 0 && <span class="gap">{'⋯\n'}</span>}
              {lines.map((line) => (
                <Line line={line} />
              ))}
            </>
          ))}
        </pre>
      )}
      {notShown && <p class="quiet">{notShown}</p>}
    </details>
  );
}

function Line({ line: { kind, number, text } }: { line: DiffLine }): Html {
  if (kind === 'added') return <ins data-line={number}>{`+${text}\n`}</ins>;
  if (kind === 'deleted') return <del data-line={number}>{`−${text}\n`}</del>;
  return <span data-line={number}>{` ${text}\n`}</span>;
}

type Step = CommitOf<'step'>;

/** A file that differs: the lines, or why they are not shown. */
type ShownFile = Omit<FileContents, 'oldId' | 'newId'> & { hunks: DiffHunk[]; notShown?: string };

/** The files that differ, as far as a page has room for them. */
export type FileChanges = {
  files: ShownFile[];
  /** How many more there are. */
  others: number;
  /** What was compared: trees of git. */
  from: ObjectId;
  to: ObjectId;
};

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

/** Reads how the files that a step left differ from those of a tree; `undefined` if the step recorded none. */
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

/** A line of a diff: with its number in the old text if it was deleted, in the new one otherwise. */
type DiffLine = { kind: 'same' | 'added' | 'deleted'; number: number; text: string };

/** Lines that differ, with a few around them. */
type DiffHunk = { lines: DiffLine[] };

/** A row of two texts beside each other; a side is absent where only the other text has a line. */
export type DiffRow = { isSame: boolean; left?: string; right?: string };

const CONTEXT_LINES = 3;
/** Texts that differ in more lines take a comparison whose time is the square of that: they are shown whole instead. */
const MAX_EDITS = 2_000;

/** Compares two texts by line; `undefined` if they differ in too much. */
function lineHunks(before: string, after: string): DiffHunk[] | undefined {
  // Of a file that is new or gone each line differs.
  if (before === '') return wholeText('added', after);
  if (after === '') return wholeText('deleted', before);
  const options = { context: CONTEXT_LINES, maxEditLength: MAX_EDITS };
  const patch = structuredPatch('', '', before, after, undefined, undefined, options);
  return patch?.hunks.map(({ oldStart, newStart, lines }) => {
    let [oldNumber, newNumber] = [oldStart, newStart];
    const shown: DiffLine[] = [];
    for (const line of lines) {
      const text = line.slice(1);
      if (line.startsWith('-')) shown.push({ kind: 'deleted', number: oldNumber++, text });
      else if (line.startsWith('+')) shown.push({ kind: 'added', number: newNumber++, text });
      else if (line.startsWith(' ')) {
        shown.push({ kind: 'same', number: newNumber++, text });
        oldNumber += 1;
      }
    }
    return { lines: shown };
  });
}

function wholeText(kind: 'added' | 'deleted', text: string): DiffHunk[] {
  const lines = text === '' ? [] : text.replace(/\n$/, '').split('\n');
  return [{ lines: lines.map((line, index) => ({ kind, number: index + 1, text: line })) }];
}

/** Puts two texts beside each other, line by line; `undefined` if they differ in too much. */
export function lineRows(left: string, right: string): DiffRow[] | undefined {
  const changes = diffLines(left, right, { maxEditLength: MAX_EDITS });
  if (changes === undefined) return undefined;
  const rows: DiffRow[] = [];
  let deleted: string[] = [];
  const flush = (added: readonly string[]): void => {
    for (let at = 0; at < Math.max(deleted.length, added.length); at += 1) {
      const [old, fresh] = [deleted[at], added[at]];
      rows.push({
        isSame: false,
        ...(old !== undefined && { left: old }),
        ...(fresh !== undefined && { right: fresh }),
      });
    }
    deleted = [];
  };
  for (const { added, removed, value } of changes) {
    const lines = value.replace(/\n$/, '').split('\n');
    if (removed) deleted = lines;
    else if (added) flush(lines);
    else {
      flush([]);
      for (const line of lines) rows.push({ isSame: true, left: line, right: line });
    }
  }
  flush([]);
  return rows;
}
