import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isJsonObject } from '../../json.ts';
import { packageRoot } from '../../git/system/process-identity.ts';
import { hintAtName, UsageError } from '../errors/usage-error.ts';

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

/** The names of the workflows that come with uwf. */
export function shippedNames(): string[] {
  const names = readdirSync(shippedFolder()).filter((name) => name.endsWith('.yaml'));
  return names.map((name) => name.slice(0, -'.yaml'.length)).toSorted();
}

/**
 * Reads a workflow that comes with uwf, and those that its configuration names as sub-workflows, each once.
 *
 * @throws {UsageError} if none has this name
 */
export async function readShipped(name: string): Promise<ShippedWorkflow[]> {
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

/** The workflows that agents of a configuration run. */
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
