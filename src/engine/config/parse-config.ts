import type { AgentBinding } from '../../agent/load/agent-binding.ts';
import { asValidated } from '../../schema/typed-schema.ts';
import { type JsonValue, mapValues } from '../../json.ts';
import { faultsOf } from '../../schema/explain-errors.ts';
import {
  type ConfigContext,
  type ConfigFile,
  type ConfigIsolation,
  type ConfigLimits,
  type ConfigMistake,
  type ConfigRedact,
  configSchema,
  faultOfPattern,
  type ConfigSnapshot,
  type PushMode,
  readRedact,
} from './config-schema.ts';
import type { Diagnostic, Path, SourceMap } from '../../workflow/source/source-map.ts';
import { parseSource, singleFile } from '../../workflow/source/read-source.ts';
import { errorsOfConfig } from './generated-check.ts';

/** A key of a configuration file that lets data out, or may: what a person has to agree to, like agents. */
export type ConfigSetting = { name: string; value: JsonValue; declaredAt: string };

/** The keys that name no program and let no data out. All others need a person's word, those of later versions too. */
const HARMLESS: readonly string[] = ['defaultAgent', 'roles', 'limits', 'context', 'foldPacks'];

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
      return { file, line, column, message: withHint(message, hint) };
    });
  }

  parse(value: JsonValue): ParsedConfig {
    // An empty file, or one of comments alone, configures nothing.
    const config = this.#mistakes.length === 0 && value !== null ? this.#checked(value) : {};
    const { agents = {}, roles = {}, defaultAgent, limits = {}, context = {}, redact, ...others } = config;
    const { compactor, ...ofContext } = context;
    const { snapshot, isolation, foldPacks, push } = others;
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
      ...(redact !== undefined && { redact: { ...readRedact(redact), place: this.#place(['redact'], 'key') } }),
      settings: settings.map(([name, value]) => ({ name, value, declaredAt: this.#declaredAt(name) })),
      mistakes: this.#mistakes,
    };
  }

  /** The configuration, without anything if it has mistakes, which are noted. */
  #checked(value: JsonValue): ConfigFile {
    const mistakes = faultsOf(configSchema, value, errorsOfConfig(value)).map(({ path, message, hint, at }) => {
      return { ...this.#place(path, at), message: withHint(message, hint) };
    });
    this.#mistakes.push(...mistakes.toSorted((a, b) => a.line - b.line || a.column - b.column));
    if (this.#mistakes.length > 0) return {};
    const config = asValidated(value, configSchema);
    const rules = config.redact === undefined ? [] : readRedact(config.redact).rules;
    for (const [at, rule] of rules.entries()) {
      const message = faultOfPattern(rule);
      if (message !== undefined) this.#mistakes.push({ ...this.#place(['redact', 'rules', at, 'pattern']), message });
    }
    return this.#mistakes.length > 0 ? {} : config;
  }

  #declaredAt(...path: string[]): string {
    const { file, line, column } = this.#place(path, 'key');
    return `${file}:${line}:${column}`;
  }

  #place(path: Path, at?: 'key'): Omit<ConfigMistake, 'message'> {
    const { file, line, column } = this.#map.place(path, at);
    return { file, line, column };
  }
}

function withHint(message: string, hint: string | undefined): string {
  return hint === undefined ? message : `${message}; ${hint}`;
}
