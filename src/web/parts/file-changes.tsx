import { plural } from '../../format-time.ts';
import type { DiffLine, FileChanges, ShownFile } from '../diff/read-file-changes.ts';
import type { Html } from '../html.ts';

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
