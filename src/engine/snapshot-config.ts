import type { SnapshotLimits } from '../git/native/snapshot.ts';

/** How the files that a step left are kept: never, always, or when they are not those of the record before. */
export type SnapshotMode = 'off' | 'on' | 'changed';

/** Whether git looks at the files at all. */
export function isRecording(mode: SnapshotMode | undefined): boolean {
  return mode !== undefined && mode !== 'off';
}

/** What a configuration says of that. */
export type ConfigSnapshot = Partial<SnapshotLimits> & {
  /** For roles that do not say it themselves; default: `off`. */
  mode?: SnapshotMode;
};
