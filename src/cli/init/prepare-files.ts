import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { UsageError } from '../usage-error.ts';
import { NEW_CONFIG, mergeConfig } from './merge-config.ts';
import { readShipped } from './shipped-workflows.ts';

/** The configuration, from the top of a work tree. */
export const CONFIG = '.uwf/config.yaml';

/** Where workflows lie, from the top of a work tree. */
export const WORKFLOWS = '.uwf/workflows';

/** What preparing a work tree comes to. Paths are from its top. */
export type PreparedFiles = {
  created: string[];
  unchanged: string[];
  /** `agents.tests`: what is added to the configuration. */
  configured: string[];
  /** What the configuration says otherwise already. */
  kept: string[];
  /** Whether a configuration that was there is changed. */
  isConfigChanged: boolean;
  /** Does all of it; until then nothing is written. */
  write(): void;
};

type FilePlan = { path: string; bytes: Uint8Array };

/**
 * Finds out which files a work tree lacks to run workflows, a shipped one and those that it needs among them.
 *
 * @param workflow the name of one that comes with uwf
 * @throws {UsageError} if one of the files is something else already, or the configuration cannot be read
 */
export async function prepareFiles(top: string, workflow: string | undefined): Promise<PreparedFiles> {
  const shipped = workflow === undefined ? [] : await readShipped(workflow);
  const files = shipped.flatMap((each) =>
    each.files.map(({ path, bytes }): FilePlan => ({ path: `${WORKFLOWS}/${path}`, bytes })),
  );
  const isThere = ({ path, bytes }: FilePlan): boolean =>
    existsSync(join(top, path)) && readFileSync(join(top, path)).equals(bytes);
  const unchanged = files.filter(isThere);
  const missing = files.filter((file) => !unchanged.includes(file));
  const other = missing.find(({ path }) => existsSync(join(top, path)));
  if (other) {
    throw new UsageError(
      `${other.path} is there already, and is something else`,
      'move it away, or rename it, and repeat',
    );
  }

  const isNew = !existsSync(join(top, CONFIG));
  const before = isNew ? NEW_CONFIG : readFileSync(join(top, CONFIG), 'utf8');
  let text = before;
  const configured: string[] = [];
  const kept: string[] = [];
  for (const { config } of shipped) {
    const merged = await mergeConfig(text, config);
    text = merged.text;
    configured.push(...merged.added);
    kept.push(...merged.kept);
  }
  return {
    created: [...(isNew ? [CONFIG] : []), ...missing.map(({ path }) => path)],
    unchanged: unchanged.map(({ path }) => path),
    configured,
    kept,
    isConfigChanged: !isNew && text !== before,
    write() {
      mkdirSync(join(top, WORKFLOWS), { recursive: true });
      for (const { path, bytes } of missing) {
        mkdirSync(dirname(join(top, path)), { recursive: true });
        writeFileSync(join(top, path), bytes);
      }
      if (isNew || text !== before) writeFileSync(join(top, CONFIG), text);
    },
  };
}

/** A line for each file, and for what was added to the configuration. */
export function formatPrepared({ created, unchanged, configured, kept, isConfigChanged }: PreparedFiles): string[] {
  return [
    ...created.map((path) => `created  ${path}`),
    ...(isConfigChanged ? [`changed  ${CONFIG}: ${configured.join(', ')}`] : []),
    ...unchanged.map((path) => `as it is ${path}`),
    ...kept.map((where) => `kept     ${where} in ${CONFIG}: it says something else`),
  ];
}
