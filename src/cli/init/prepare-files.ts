import { constants, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type * as Yaml from 'yaml';
import type { Document } from 'yaml';
import { readFileInside } from '../../git/repository/git-directory.ts';
import { writeOwnFile } from '../../git/system/files.ts';
import { packageRoot } from '../../git/system/process-identity.ts';
import { isJsonObject, type JsonObject } from '../../json.ts';
import { hintAtName, UsageError } from '../errors/exit-code.ts';

/** The configuration, from the top of a work tree. */
export const CONFIG = '.uwf/config.yaml';
/** More than any file that is made here. */
const MAX_BYTES = 1024 * 1024;

export const WORKFLOWS = '.uwf/workflows';

/** What preparing a work tree comes to. Paths are from its top. */
export type PreparedFiles = {
  created: string[];
  unchanged: string[];
  /** `agents.tests`: what is added to the configuration. */
  configured: string[];
  /** Names to which the configuration gives another value. */
  kept: string[];
  /** Existing schemas for editors that another version of uwf wrote. */
  outdated: string[];
  /** Whether a configuration that was there is changed. */
  isConfigChanged: boolean;
  /** Writes everything. Nothing is written before. */
  write(): void;
};

/** What a repository without a work tree lacks. */
export const NOTHING: PreparedFiles = {
  created: [],
  unchanged: [],
  configured: [],
  kept: [],
  outdated: [],
  isConfigChanged: false,
  write() {},
};

type FilePlan = { path: string; bytes: Uint8Array };

/**
 * Finds out which files a work tree lacks to run workflows, a shipped one and those that it needs among them. Fails if one of
 * the files is something else already, or leads elsewhere, or the configuration cannot be read.
 */
export async function prepareFiles(top: string, workflow: string | undefined): Promise<PreparedFiles> {
  const shipped = workflow === undefined ? [] : await readShipped(workflow);
  const files = shipped.flatMap((each) =>
    each.files.map(({ path, bytes }): FilePlan => ({ path: `${WORKFLOWS}/${path}`, bytes })),
  );
  const schemas = await Promise.all(
    Object.entries(fileSchemas).map(async ([kind, schema]): Promise<FilePlan> => ({
      path: schemaPath(kind),
      bytes: Buffer.from(formatSchema(await schema())),
    })),
  );
  const assertNoLinks = (): void =>
    [CONFIG, ...[...schemas, ...files].map(({ path }) => path)].forEach((path) => assertNoLink(top, path));
  assertNoLinks();
  const read = (path: string): Buffer => readFileInside(top, join(top, path), MAX_BYTES);
  const isThere = ({ path, bytes }: FilePlan): boolean => existsSync(join(top, path)) && read(path).equals(bytes);
  const unchanged = files.filter(isThere);
  const missing = files.filter((file) => !unchanged.includes(file));
  const other = missing.find(({ path }) => existsSync(join(top, path)));
  if (other) {
    const hint = 'move it away, or rename it, and repeat';
    throw new UsageError(`${other.path} is there already, and is something else`, hint);
  }

  const outdated = schemas.filter((file) => existsSync(join(top, file.path)) && !isThere(file));
  missing.unshift(...schemas.filter((file) => !existsSync(join(top, file.path))));

  const isNew = !existsSync(join(top, CONFIG));
  const before = isNew
    ? readFileSync(join(packageRoot(), 'fixtures/init/config.yaml'), 'utf8')
    : read(CONFIG).toString('utf8');
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
    outdated: outdated.map(({ path }) => path),
    isConfigChanged: !isNew && text !== before,
    write() {
      // Checked again: a person may have been asked in the meantime.
      assertNoLinks();
      mkdirSync(join(top, WORKFLOWS), { recursive: true });
      for (const { path, bytes } of missing) {
        mkdirSync(dirname(join(top, path)), { recursive: true });
        writeOwnFile(join(top, path), NEW_FILE, bytes);
      }
      if (isNew || text !== before) writeOwnFile(join(top, CONFIG), isNew ? NEW_FILE : SAME_FILE, text);
    },
  };
}

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_TRUNC, O_WRONLY } = constants;
const NEW_FILE = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
const SAME_FILE = O_WRONLY | O_TRUNC | O_NOFOLLOW;

/** The author of a repository could make a link to any file of the user who prepares it. */
function assertNoLink(top: string, path: string): void {
  const parts = path.split('/');
  for (const part of parts.map((_, depth) => parts.slice(0, depth + 1).join('/'))) {
    const stats = lstatSync(join(top, part), { throwIfNoEntry: false });
    if (stats === undefined) return;
    if (!stats.isSymbolicLink()) continue;
    throw new UsageError(`${part} is a link, and 'uwf init' follows no links`, 'replace it by what it leads to');
  }
}

export function formatPrepared(prepared: PreparedFiles): string[] {
  const { created, unchanged, configured, kept, outdated, isConfigChanged } = prepared;
  return [
    ...created.map((path) => `created  ${path}`),
    ...(isConfigChanged ? [`changed  ${CONFIG}: ${configured.join(', ')}`] : []),
    ...unchanged.map((path) => `as it is ${path}`),
    ...kept.map((where) => `kept     ${where} in ${CONFIG}: it says something else`),
    ...outdated.map((path) => `kept     ${path}: it is not what this version of uwf writes`),
  ];
}

/** A configuration after the merge, with the names that were added and those that had another value and were kept. */
type MergedConfig = { text: string; added: string[]; kept: string[] };

/** Adds the agents and roles of one configuration to another, both in YAML. The existing lines stay as they are. */
export async function mergeConfig(text: string, addition: string): Promise<MergedConfig> {
  const yaml = await import('yaml');
  const source = yaml.parseDocument(addition);
  const wanted: unknown = source.toJS();
  readPresent(yaml.parseDocument(text));
  let merged = text;
  const added: string[] = [];
  const kept: string[] = [];
  for (const [section, entries] of Object.entries(isJsonObject(wanted) ? wanted : {})) {
    if (!isJsonObject(entries)) continue;
    const document = yaml.parseDocument(merged);
    const present = readPresent(document);
    const known: JsonObject = isJsonObject(present[section]) ? present[section] : {};
    const missing: [string, unknown][] = [];
    for (const [name, value] of Object.entries(entries)) {
      const where = `${section}.${name}`;
      if (!Object.hasOwn(known, name)) {
        // The node and not its value: this keeps how it was written.
        missing.push([name, source.getIn([section, name], true)]);
        added.push(where);
      } else if (!isDeepStrictEqual(known[name], value)) kept.push(where);
    }
    if (missing.length === 0) continue;
    const inserted = insertLines(yaml, merged, section, missing);
    if (present[section] === null) document.delete(section);
    if (yaml.isAlias(document.get(section, true))) {
      throw new UsageError(`'${section}' of .uwf/config.yaml is an alias: no lines can be added to it`, 'write it out');
    }
    for (const [name, node] of missing) document.setIn([section, name], node);
    // Where the section is written in an unusual way, the file is written anew.
    const result = yaml.parseDocument(inserted);
    const isSame = result.errors.length === 0 && isDeepStrictEqual(result.toJS(), document.toJS());
    merged = isSame ? inserted : document.toString(layout);
  }
  return { text: merged, added, kept };
}

const layout = { lineWidth: 120, flowCollectionPadding: true } as const;

function readPresent(document: Document): JsonObject {
  const [error] = document.errors;
  if (error) throw new UsageError(`.uwf/config.yaml cannot be read: ${error.message}`, 'mend it first');
  const present: unknown = document.toJS() ?? {};
  if (!isJsonObject(present)) throw new UsageError('.uwf/config.yaml is not a configuration', 'mend it first');
  return present;
}

/** The text with entries added behind the last one of a section, or with the section at the end. */
function insertLines(yaml: typeof Yaml, text: string, section: string, entries: readonly [string, unknown][]): string {
  const value = yaml.parseDocument(text).get(section, true);
  const last = yaml.isMap(value) ? value.items.at(-1) : undefined;
  const isBlock = yaml.isMap(value) && value.flow !== true;
  const [keyStart = 0] = isBlock && yaml.isNode(last?.key) ? (last.key.range ?? []) : [];
  const indent = isBlock ? keyStart - (text.lastIndexOf('\n', keyStart - 1) + 1) : 2;
  const lines = entries.map((entry) => yaml.stringify(new Map([entry]), layout)).join('');
  const block = lines.replaceAll(/^(?=.)/gm, ' '.repeat(indent));
  if (!isBlock) return `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${section}:\n${block}`;
  const [, end = text.length] = (yaml.isNode(last?.value) ? last.value.range : undefined) ?? [];
  const lineEnd = text[end - 1] === '\n' ? end : text.indexOf('\n', end) + 1;
  return lineEnd === 0 ? `${text}\n${block}` : text.slice(0, lineEnd) + block + text.slice(lineEnd);
}

/** A workflow that comes with uwf, as files to be copied. */
type ShippedWorkflow = {
  name: string;
  /** Relative to the folder of workflows: the workflow itself, and the programs beside it. */
  files: readonly { path: string; bytes: Uint8Array }[];
  /** The configuration that binds its roles, in YAML; '' if it needs none. */
  config: string;
};

/** The line by which an editor finds the schema of a workflow file. */
const EDITOR_LINE = Buffer.from('# yaml-language-server: $schema=../schemas/workflow.json\n');

function shippedFolder(): string {
  return join(packageRoot(), 'fixtures', 'workflows');
}

export function shippedNames(): string[] {
  const names = readdirSync(shippedFolder()).filter((name) => name.endsWith('.yaml'));
  return names.map((name) => name.slice(0, -'.yaml'.length)).toSorted();
}

/** Reads a workflow that comes with uwf, and those that its configuration names as sub-workflows, each once. */
async function readShipped(name: string): Promise<ShippedWorkflow[]> {
  const known = shippedNames();
  if (!known.includes(name)) {
    throw new UsageError(`no workflow '${name}' comes with uwf`, hintAtName(name, known));
  }
  const found = new Map<string, ShippedWorkflow>();
  const pending = [name];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (found.has(next) || !known.includes(next)) continue;
    const workflow = readOne(next);
    found.set(next, workflow);
    pending.push(...(await subWorkflows(workflow.config)));
  }
  return [...found.values()];
}

function readOne(name: string): ShippedWorkflow {
  const folder = shippedFolder();
  const paths = [`${name}.yaml`];
  const own = join(folder, name);
  let config = '';
  if (existsSync(own)) {
    for (const entry of readdirSync(own, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const path = join(entry.parentPath, entry.name);
      if (path === join(own, 'config.yaml')) config = readFileSync(path, 'utf8');
      else paths.push(path.slice(folder.length + 1));
    }
  }
  const read = (path: string): Uint8Array => {
    const bytes = readFileSync(join(folder, path));
    return path === `${name}.yaml` ? Buffer.concat([EDITOR_LINE, bytes]) : bytes;
  };
  return { name, config, files: paths.toSorted().map((path) => ({ path, bytes: read(path) })) };
}

async function subWorkflows(config: string): Promise<string[]> {
  const { parse } = await import('yaml');
  const value: unknown = parse(config);
  const agents = isJsonObject(value) && isJsonObject(value['agents']) ? Object.values(value['agents']) : [];
  return agents.flatMap((agent) => {
    if (!isJsonObject(agent) || agent['package'] !== 'builtin:workflow' || !isJsonObject(agent['config'])) return [];
    const { workflow } = agent['config'];
    return typeof workflow === 'string' ? [workflow] : [];
  });
}

/** The files that people write, each with the schema by which an editor checks it. */
export const fileSchemas: Readonly<Record<'workflow' | 'config', () => Promise<JsonObject>>> = {
  workflow: async () => (await import('../../workflow/notation/editor-schema.ts')).workflowFileSchema(),
  config: async () => (await import('../../engine/config/config-schema.ts')).configFileSchema(),
};

/** Where `uwf init` puts such a schema, from the top of a work tree. */
const schemaPath = (kind: string): string => `.uwf/schemas/${kind}.json`;

export const formatSchema = (schema: JsonObject): string => `${JSON.stringify(schema, null, 2)}\n`;
