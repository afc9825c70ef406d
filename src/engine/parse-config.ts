import type * as Yaml from 'yaml';
import type { Document, LineCounter, Node, Pair } from 'yaml';

import type { AgentBinding } from '../agent/agent-binding.ts';
import { isJsonObject } from '../json.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import { nearestName } from '../nearest-name.ts';
import { withArticle } from '../with-article.ts';
import { faultOfValue } from '../schema/fault-of-value.ts';
import type { ConfigMistake } from './config-errors.ts';
import { configSchema } from './config-schema.ts';
import { readRedact, type ConfigRedact } from './redact-config.ts';
import type { ConfigSnapshot } from './snapshot-config.ts';
import type { Limits } from '../workflow/definition.ts';

/** Limits of a configuration; those of workflows and one for the machine. Positive whole numbers. */
export type ConfigLimits = Limits & {
  /** How many threads may work at the same time. */
  maxParallelThreads?: number;
};

/** What agents are told. */
export type ConfigContext = {
  /** How many characters the replies of earlier steps may have together; default 60,000. */
  maxCharacters?: number;
  /** The thread is summed up before a turn that would be told so many characters or more; default: never. */
  compactAtCharacters?: number;
};

/** A key of a configuration file that lets data out, or may: what a person has to agree to, like agents. */
export type ConfigSetting = { name: string; value: JsonValue; declaredAt: string };

/** The keys that name no program and let no data out. All others need a person's word, those of later versions too. */
const HARMLESS: readonly string[] = ['defaultAgent', 'roles', 'limits', 'context', 'foldPacks'];

/** What one configuration file says. */
export type ParsedConfig = {
  agents: Record<string, AgentBinding>;
  defaultAgent: AgentReference | undefined;
  /** By `workflow.role` or `role`. */
  roles: Record<string, AgentReference>;
  limits: ConfigLimits;
  context: ConfigContext;
  /** The agent that sums threads up. */
  compactor: AgentReference | undefined;
  snapshot?: ConfigSnapshot;
  foldPacks?: boolean;
  redact?: ConfigRedact & { place: Omit<ConfigMistake, 'message'> };
  settings: ConfigSetting[];
  mistakes: ConfigMistake[];
};

/** The name of an agent, with the place that names it: the agent may be declared in another file. */
export type AgentReference = { agent: string; place: Omit<ConfigMistake, 'message'> };

/**
 * Reads a configuration file: YAML 1.2, or JSON. Lists every mistake in it with its place and throws for none.
 * @param file the file's name in messages
 */
export async function parseConfig(source: string, file: string): Promise<ParsedConfig> {
  const yaml = await import('yaml');
  const lines = new yaml.LineCounter();
  const document = yaml.parseDocument(source, { lineCounter: lines, prettyErrors: false, logLevel: 'silent' });
  return new ConfigParser(yaml, document, lines, file).parse();
}

/** A file without mistakes, as {@link configSchema} describes it. */
type ConfigFile = {
  agents?: Record<string, { package: string; version?: string; config?: JsonObject }>;
  defaultAgent?: string;
  roles?: Record<string, string>;
  limits?: ConfigLimits;
  context?: ConfigContext & { compactor?: string };
  foldPacks?: boolean;
  redact?: JsonValue;
  snapshot?: ConfigSnapshot;
};

class ConfigParser {
  readonly #yaml: typeof Yaml;
  readonly #document: Document;
  readonly #lines: LineCounter;
  readonly #file: string;
  readonly #mistakes: ConfigMistake[] = [];
  /** Where keys and values stand, by their path. */
  readonly #pairs: Map<string, { key: Node; value: Node | null }> = new Map();

  constructor(yaml: typeof Yaml, document: Document, lines: LineCounter, file: string) {
    this.#yaml = yaml;
    this.#document = document;
    this.#lines = lines;
    this.#file = file;
  }

  parse(): ParsedConfig {
    const { errors, warnings, contents } = this.#document;
    // After its first error the parser has lost its bearings, and what it says of the rest helps nobody.
    for (const { message, pos } of [...errors.slice(0, 1), ...warnings]) {
      this.#mistakes.push({ ...this.#placeAt(pos[0]), message });
    }
    // An empty file, or one of comments alone, configures nothing.
    const isEmpty = contents === null || (this.#yaml.isScalar(contents) && contents.value === null);
    if (this.#mistakes.length === 0 && !isEmpty) this.#check(contents, contents, configSchema, []);
    const redact = this.#redact();
    const value = this.#mistakes.length > 0 || isEmpty ? {} : (this.#plain(contents) ?? {});
    // Checked against the schema, which describes this type; YAML's core schema has what JSON has.
    return this.#parsed(value, redact);
  }

  #parsed(config: ConfigFile, redact: ParsedConfig['redact']): ParsedConfig {
    const { agents = {}, roles = {}, defaultAgent, limits = {}, context = {}, snapshot, foldPacks } = config;
    const { compactor, ...ofContext } = context;
    const reference = (agent: string, ...path: string[]): AgentReference => ({
      agent,
      place: this.#placeOf(this.#pairs.get(JSON.stringify(path))?.value ?? null),
    });
    const settings = Object.entries(config).filter(([name]) => name !== 'agents' && !HARMLESS.includes(name));
    return {
      // Agents are asked for one by one.
      agents: mapValues(agents, (agent, name) => ({
        name,
        config: {},
        ...agent,
        declaredAt: this.#declaredAt('agents', name),
      })),
      roles: mapValues(roles, (agent, role) => reference(agent, 'roles', role)),
      defaultAgent: defaultAgent === undefined ? undefined : reference(defaultAgent, 'defaultAgent'),
      compactor: compactor === undefined ? undefined : reference(compactor, 'context', 'compactor'),
      limits,
      context: ofContext,
      ...(snapshot !== undefined && { snapshot }),
      ...(foldPacks !== undefined && { foldPacks }),
      ...(redact !== undefined && { redact }),
      settings: settings.map(([name, value]) => ({ name, value, declaredAt: this.#declaredAt(name) })),
      mistakes: this.#mistakes,
    };
  }

  #redact(): ParsedConfig['redact'] {
    const pair = this.#pairs.get(JSON.stringify(['redact']));
    if (pair === undefined) return undefined;
    const redact = readRedact(this.#plain(pair.value));
    if (!('fault' in redact)) return { ...redact, place: this.#placeOf(pair.key) };
    this.#mistake(pair.value ?? pair.key, redact.fault);
    return undefined;
  }

  /** Holds a value against its schema; `near` is where a mistake in a value that is not there stands. */
  #check(node: Node | null, near: Node, schema: JsonObject, path: readonly string[]): void {
    const { properties, additionalProperties: others, required, anyOf } = schema;
    // What has several forms has a reader of its own.
    if (anyOf !== undefined) return;
    const where = path.length === 0 ? 'the configuration' : path.join('.');
    const map = this.#yaml.isAlias(node) ? node.resolve(this.#document) : node;
    if (schema['type'] !== 'object' || !this.#yaml.isMap(map)) {
      const fault = faultOfValue(schema, this.#plain(node));
      if (fault !== undefined) this.#mistake(node ?? near, `${where} ${fault}`);
      return;
    }
    if (others === undefined) return;
    const known = isJsonObject(properties) ? properties : {};
    // The parser makes nodes of all keys and values.
    for (const { key, value } of map.items as Pair<Node, Node | null>[]) {
      const plain = this.#plain(key);
      const name = typeof plain === 'string' ? plain : JSON.stringify(plain);
      this.#pairs.set(JSON.stringify([...path, name]), { key, value });
      const inner = Object.hasOwn(known, name) ? known[name] : others;
      if (isJsonObject(inner)) this.#check(value, key, inner, [...path, name]);
      else this.#mistake(key, `unknown key '${name}' in ${where}; ${chooseFrom(name, Object.keys(known))}`);
    }
    for (const name of Array.isArray(required) ? required.map(String) : []) {
      const example = isJsonObject(known[name]) ? [known[name]['examples']].flat()[0] : undefined;
      if (!map.has(name))
        this.#mistake(near, `${where} needs ${withArticle(name)}, such as '${name}: ${JSON.stringify(example)}'`);
    }
  }

  #plain(node: Node | null): unknown {
    try {
      return node?.toJS(this.#document, { maxAliasCount: 100 });
    } catch {
      // Aliases of aliases, without end or nearly so.
      this.#mistake(node, 'this has too many aliases');
      return undefined;
    }
  }

  #mistake(node: Node | null, message: string): void {
    this.#mistakes.push({ ...this.#placeOf(node), message });
  }

  #declaredAt(...path: string[]): string {
    const { file, line, column } = this.#placeOf(this.#pairs.get(JSON.stringify(path))?.key ?? null);
    return `${file}:${line}:${column}`;
  }

  #placeOf(node: Node | null): Omit<ConfigMistake, 'message'> {
    return this.#placeAt(node?.range?.[0] ?? 0);
  }

  #placeAt(offset: number): Omit<ConfigMistake, 'message'> {
    const { line, col } = this.#lines.linePos(offset);
    return { file: this.#file, line, column: col };
  }
}

function chooseFrom(name: string, known: readonly string[]): string {
  const near = nearestName(name, known);
  return near === undefined ? `known are ${known.join(', ')}` : `did you mean '${near}'?`;
}

function mapValues<T, U>(record: Record<string, T>, map: (value: T, name: string) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value, name)]));
}
