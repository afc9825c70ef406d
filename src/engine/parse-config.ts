import type * as Yaml from 'yaml';
import type { Document, LineCounter, Node, Pair } from 'yaml';

import type { AgentBinding } from '../agent/agent-binding.ts';
import { isJsonObject } from '../json.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import { nearestName } from '../nearest-name.ts';
import { faultOfLimit, limitNames } from '../schema/built-in/limits.ts';
import type { ConfigMistake } from './config-errors.ts';
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

type Fields = Record<string, (value: Node | null, name: string, key: Node) => void>;

class ConfigParser {
  readonly #yaml: typeof Yaml;
  readonly #document: Document;
  readonly #lines: LineCounter;
  readonly #file: string;
  readonly #parsed: ParsedConfig = {
    agents: {},
    defaultAgent: undefined,
    roles: {},
    limits: {},
    context: {},
    compactor: undefined,
    settings: [],
    mistakes: [],
  };

  constructor(yaml: typeof Yaml, document: Document, lines: LineCounter, file: string) {
    this.#yaml = yaml;
    this.#document = document;
    this.#lines = lines;
    this.#file = file;
  }

  parse(): ParsedConfig {
    const parsed = this.#parsed;
    const { errors, warnings } = this.#document;
    // After its first error the parser has lost its bearings, and what it says of the rest helps nobody.
    for (const { message, pos } of [...errors.slice(0, 1), ...warnings]) {
      parsed.mistakes.push({ ...this.#placeAt(pos[0]), message });
    }
    const { contents } = this.#document;
    // An empty file, or one of comments alone, configures nothing.
    if (parsed.mistakes.length > 0 || contents === null || this.#isNull(contents)) return parsed;
    const isMap = this.#fields(contents, 'the configuration', {
      agents: (value) => this.#entries(value, 'agents', (agent, name, key) => this.#agent(agent, name, key)),
      defaultAgent: (value) => {
        parsed.defaultAgent = this.#reference(value, 'defaultAgent');
      },
      roles: (value) =>
        this.#entries(value, 'roles', (agent, role) => {
          const reference = this.#reference(agent, `roles.${role}`);
          if (reference !== undefined) define(parsed.roles, role, reference);
        }),
      limits: (value) => this.#fields(value, 'limits', this.#limitFields()),
      context: (value) =>
        this.#fields(value, 'context', {
          maxCharacters: (number, _name, key) => this.#context(number, 'maxCharacters', key),
          compactAtCharacters: (number, _name, key) => this.#context(number, 'compactAtCharacters', key),
          compactor: (agent) => {
            parsed.compactor = this.#reference(agent, 'context.compactor');
          },
        }),
      foldPacks: (value, name, key) => {
        const fold = this.#plain(value);
        if (typeof fold === 'boolean') parsed.foldPacks = fold;
        else this.#mistake(value ?? key, `${name} must be true or false`);
      },
      redact: (value, _name, key) => {
        const redact = readRedact(this.#plain(value));
        if ('fault' in redact) this.#mistake(value ?? key, redact.fault);
        else parsed.redact = { ...redact, place: this.#placeOf(key) };
      },
      snapshot: (value) =>
        this.#fields(value, 'snapshot', {
          mode: (mode, _name, key) => this.#snapshotMode(mode, key),
          maxBytes: (number, name, key) => this.#snapshotLimit('maxBytes', number, name, key),
          timeoutMs: (number, name, key) => this.#snapshotLimit('timeoutMs', number, name, key),
        }),
    });
    if (isMap) this.#entries(contents, 'settings', (value, name, key) => this.#setting(value, name, key));
    return parsed;
  }

  #setting(node: Node | null, name: string, key: Node): void {
    // Agents are asked for one by one.
    if (name === 'agents' || HARMLESS.includes(name)) return;
    const { file, line, column } = this.#placeOf(key);
    // The parser makes of YAML's core schema what JSON has.
    const value = (this.#plain(node) ?? null) as JsonValue;
    this.#parsed.settings.push({ name, value, declaredAt: `${file}:${line}:${column}` });
  }

  #agent(node: Node | null, name: string, key: Node): void {
    const where = `agents.${name}`;
    const { file, line, column } = this.#placeOf(key);
    const fields: { package?: string; version?: string; config?: JsonObject } = {};
    const isMap = this.#fields(node, where, {
      package: (value) => this.#text(value, `${where}.package`, (text) => (fields.package = text)),
      version: (value) => this.#text(value, `${where}.version`, (text) => (fields.version = text)),
      config: (value) => {
        const config = this.#plain(value);
        if (isJsonObject(config)) fields.config = config;
        else this.#mistake(value ?? key, `${where}.config must be a map`);
      },
    });
    const { package: reference, config = {}, version } = fields;
    if (reference !== undefined) {
      const declared = { name, package: reference, config, declaredAt: `${file}:${line}:${column}` };
      define(this.#parsed.agents, name, version === undefined ? declared : { ...declared, version });
    } else if (isMap && !this.#has(node, 'package')) {
      this.#mistake(key, `${where} needs a package, such as 'package: "builtin:command"'`);
    }
  }

  #limitFields(): Fields {
    const read = (name: keyof ConfigLimits, value: Node | null, key: Node): void => {
      const limit = this.#plain(value);
      // A number of threads is held to the rule for a number of steps.
      const fault = faultOfLimit(name === 'maxParallelThreads' ? 'maxSteps' : name, limit);
      if (fault === undefined) this.#parsed.limits[name] = Number(limit);
      else this.#mistake(value ?? key, `limits.${name} ${fault}`);
    };
    const names: (keyof ConfigLimits)[] = [...limitNames, 'maxParallelThreads'];
    return Object.fromEntries(names.map((name) => [name, (value, _name, key) => read(name, value, key)]));
  }

  #context(value: Node | null, name: keyof ConfigContext, key: Node): void {
    const number = this.#plain(value);
    if (typeof number === 'number' && Number.isSafeInteger(number) && number > 0) {
      this.#parsed.context[name] = number;
    } else this.#mistake(value ?? key, `context.${name} must be a whole number from 1`);
  }

  #snapshotMode(value: Node | null, key: Node): void {
    const mode = this.#plain(value);
    if (mode === 'off' || mode === 'on' || mode === 'changed')
      this.#parsed.snapshot = { ...this.#parsed.snapshot, mode };
    else this.#mistake(value ?? key, "snapshot.mode must be 'off', 'on' or 'changed'");
  }

  #snapshotLimit(limit: 'maxBytes' | 'timeoutMs', value: Node | null, name: string, key: Node): void {
    const number = this.#plain(value);
    if (typeof number === 'number' && Number.isSafeInteger(number) && number > 0) {
      this.#parsed.snapshot = { ...this.#parsed.snapshot, [limit]: number };
    } else this.#mistake(value ?? key, `snapshot.${name} must be a whole number from 1`);
  }

  #reference(value: Node | null, where: string): AgentReference | undefined {
    let reference: AgentReference | undefined;
    this.#text(value, where, (agent, node) => (reference = { agent, place: this.#placeOf(node) }));
    return reference;
  }

  #text(value: Node | null, where: string, take: (text: string, node: Node) => void): void {
    const text = this.#plain(value);
    if (value !== null && typeof text === 'string' && text !== '') take(text, value);
    else this.#mistake(value, `${where} must be a text`);
  }

  /** Reads a map with the given keys only; false where it is no map. */
  #fields(node: Node | null, where: string, known: Fields): boolean {
    return this.#entries(node, where, (value, name, key) => {
      const read = Object.hasOwn(known, name) ? known[name] : undefined;
      if (read !== undefined) return read(value, name, key);
      const near = nearestName(name, Object.keys(known));
      const help = near === undefined ? `known are ${Object.keys(known).join(', ')}` : `did you mean '${near}'?`;
      this.#mistake(key, `unknown key '${name}' in ${where}; ${help}`);
    });
  }

  #entries(node: Node | null, where: string, read: (value: Node | null, name: string, key: Node) => void): boolean {
    const map = this.#resolved(node);
    if (!this.#yaml.isMap(map)) {
      this.#mistake(node, `${where} must be a map`);
      return false;
    }
    for (const { key, value } of map.items as Pair<Node, Node | null>[]) {
      // The parser makes nodes of all keys and values.
      const name = this.#plain(key);
      read(value, String(name), key);
    }
    return true;
  }

  #has(node: Node | null, key: string): boolean {
    const map = this.#resolved(node);
    return this.#yaml.isMap(map) && map.has(key);
  }

  #resolved(node: Node | null): Node | null {
    return this.#yaml.isAlias(node) ? (node.resolve(this.#document) ?? null) : node;
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

  #isNull(node: Node): boolean {
    return this.#yaml.isScalar(node) && node.value === null;
  }

  #mistake(node: Node | null, message: string): void {
    this.#parsed.mistakes.push({ ...this.#placeOf(node), message });
  }

  #placeOf(node: Node | null): Omit<ConfigMistake, 'message'> {
    return this.#placeAt(node?.range?.[0] ?? 0);
  }

  #placeAt(offset: number): Omit<ConfigMistake, 'message'> {
    const { line, col } = this.#lines.linePos(offset);
    return { file: this.#file, line, column: col };
  }
}

/** Sets a property of any name at all, `__proto__` included. */
function define<T>(record: Record<string, T>, name: string, value: T): void {
  Object.defineProperty(record, name, { value, enumerable: true, configurable: true, writable: true });
}
