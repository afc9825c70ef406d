import type { AgentBinding } from '../../agent/load/agent-binding.ts';
import { asValidated } from '../../agent/typed-schema.ts';
import { isJsonObject, mapValues } from '../../json.ts';
import type { JsonObject, JsonValue } from '../../json.ts';
import { nearestName } from '../../nearest-name.ts';
import { withArticle } from '../../with-article.ts';
import { faultOfValue } from '../../schema/built-in/schema-parts.ts';
import {
  type ConfigContext,
  type ConfigFile,
  type ConfigIsolation,
  type ConfigLimits,
  type ConfigMistake,
  type ConfigRedact,
  configSchema,
  type ConfigSnapshot,
  type PushMode,
  readRedact,
} from './config-schema.ts';
import type { Diagnostic } from '../../workflow/diagnostics/diagnostic.ts';
import { parseSource } from '../../workflow/source/parse-source.ts';
import type { SourceMap } from '../../workflow/source/source-map.ts';
import { singleFile } from '../../workflow/source/source-reader.ts';

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
  isolation?: ConfigIsolation;
  foldPacks?: boolean;
  push?: PushMode;
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
export async function parseConfigFile(source: string, file: string): Promise<ParsedConfig> {
  const { value = null, map, diagnostics } = await parseSource(file, singleFile(source));
  return new ConfigParser(map, diagnostics).parse(value);
}

class ConfigParser {
  readonly #map: SourceMap;
  readonly #mistakes: ConfigMistake[];

  constructor(map: SourceMap, diagnostics: readonly Diagnostic[]) {
    this.#map = map;
    this.#mistakes = diagnostics.map(({ file, line, column, message, hint }) => {
      return { file, line, column, message: hint === undefined ? message : `${message}; ${hint}` };
    });
  }

  parse(value: JsonValue): ParsedConfig {
    // An empty file, or one of comments alone, configures nothing.
    if (this.#mistakes.length === 0 && value !== null) this.#check(value, configSchema, []);
    const redact = this.#redact(value);
    const isFine = this.#mistakes.length === 0 && value !== null;
    return this.#parsed(isFine ? asValidated(value, configSchema) : {}, redact);
  }

  #parsed(config: ConfigFile, redact: ParsedConfig['redact']): ParsedConfig {
    const {
      agents = {},
      roles = {},
      defaultAgent,
      limits = {},
      context = {},
      snapshot,
      isolation,
      foldPacks,
      push,
    } = config;
    const { compactor, ...ofContext } = context;
    const reference = (agent: string, ...path: string[]): AgentReference => ({ agent, place: this.#place(path) });
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
      ...(isolation !== undefined && { isolation }),
      ...(foldPacks !== undefined && { foldPacks }),
      ...(push !== undefined && { push }),
      ...(redact !== undefined && { redact }),
      settings: settings.map(([name, value]) => ({ name, value, declaredAt: this.#declaredAt(name) })),
      mistakes: this.#mistakes,
    };
  }

  #redact(config: JsonValue): ParsedConfig['redact'] {
    if (!isJsonObject(config) || !Object.hasOwn(config, 'redact')) return undefined;
    const redact = readRedact(config['redact']);
    if (!('fault' in redact)) return { ...redact, place: this.#place(['redact'], 'key') };
    this.#mistake(['redact'], redact.fault);
    return undefined;
  }

  /** Holds a value against its schema. */
  #check(value: JsonValue, schema: JsonObject, path: readonly string[]): void {
    const { type, properties, additionalProperties: others, required, anyOf } = schema;
    // What has several forms has a reader of its own.
    if (anyOf !== undefined) return;
    const where = path.length === 0 ? 'the configuration' : path.join('.');
    if (type !== 'object' || !isJsonObject(value)) {
      const fault = faultOfValue(schema, value);
      if (fault !== undefined) this.#mistake(path, `${where} ${fault}`);
      return;
    }
    if (others === undefined) return;
    const known = isJsonObject(properties) ? properties : {};
    for (const [name, member] of Object.entries(value)) {
      const inner = Object.hasOwn(known, name) ? known[name] : others;
      if (isJsonObject(inner)) this.#check(member, inner, [...path, name]);
      else {
        const message = `unknown key '${name}' in ${where}; ${chooseFrom(name, Object.keys(known))}`;
        this.#mistake([...path, name], message, 'key');
      }
    }
    for (const name of Array.isArray(required) ? required.map(String) : []) {
      const example = isJsonObject(known[name]) ? [known[name]['examples']].flat()[0] : undefined;
      if (Object.hasOwn(value, name)) continue;
      this.#mistake(path, `${where} needs ${withArticle(name)}, such as '${name}: ${JSON.stringify(example)}'`, 'key');
    }
  }

  #mistake(path: readonly string[], message: string, at?: 'key'): void {
    this.#mistakes.push({ ...this.#place(path, at), message });
  }

  #declaredAt(...path: string[]): string {
    const { file, line, column } = this.#place(path, 'key');
    return `${file}:${line}:${column}`;
  }

  #place(path: readonly string[], at?: 'key'): Omit<ConfigMistake, 'message'> {
    const { file, line, column } = this.#map.place(path, at);
    return { file, line, column };
  }
}

function chooseFrom(name: string, known: readonly string[]): string {
  const near = nearestName(name, known);
  return near === undefined ? `known are ${known.join(', ')}` : `did you mean '${near}'?`;
}
