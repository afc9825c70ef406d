import { basename, delimiter } from 'node:path';
import type { JsonObject } from '../../json.ts';
import { findProgram } from '../processes/start-program.ts';

/** A coding agent that speaks the Agent Client Protocol, by itself or through a bridge. */
type KnownAgent = {
  /** What to call it in the configuration. */
  name: string;
  title: string;
  /** What is looked for on the PATH, and what is to be started where it is found; the first that is there counts. */
  programs: readonly { program: string; command: readonly string[] }[];
  /** Variables that hold its key, for those who do not log in with it. */
  keys: readonly string[];
  /** What its config has to say beside the command. */
  config: JsonObject;
};

/** uwf's MCP server as the Copilot CLI wants it; the turn is told to it by the environment. */
export const COPILOT_SERVER = '{"mcpServers":{"uwf":{"command":"uwf","args":["mcp"],"tools":["*"]}}}';

/** They are found in this order. */
export const knownAgents: readonly KnownAgent[] = [
  // Its own default is a model that answers most questions for permission, so that the rules of `permissions` are not asked.
  bridged('claude', 'Claude Code', 'claude-agent-acp', ['ANTHROPIC_API_KEY'], { mode: 'default' }),
  bridged('codex', 'Codex', 'codex-acp', ['OPENAI_API_KEY'], { mode: 'workspace-write' }),
  // It takes a file that is not there yet for one that its client cannot read.
  native('gemini', 'Gemini CLI', ['gemini', '--acp'], ['GEMINI_API_KEY', 'GOOGLE_API_KEY'], { fs: { read: false } }),
  native('opencode', 'opencode', ['opencode', 'acp']),
  native('goose', 'goose', ['goose', 'acp']),
  native('cursor', 'Cursor', ['cursor-agent', 'acp'], ['CURSOR_API_KEY']),
  // Over ACP it takes no server that is started with a command: it starts uwf's by itself.
  native('copilot', 'GitHub Copilot CLI', ['copilot', '--acp', '--stdio', '--additional-mcp-config', COPILOT_SERVER]),
  native('qwen', 'Qwen Code', ['qwen', '--acp'], ['OPENAI_API_KEY'], { mode: 'default' }),
  native('kimi', 'Kimi CLI', ['kimi', 'acp']),
  native('cline', 'cline', ['cline', '--acp']),
];

function native(
  name: string,
  title: string,
  command: readonly [string, ...string[]],
  keys: string[] = [],
  config: JsonObject = {},
): KnownAgent {
  return { name, title, programs: [{ program: command[0], command }], keys, config };
}

/** An agent that npx starts with a bridge, if the bridge is not installed. */
function bridged(name: string, title: string, bridge: string, keys: string[], config: JsonObject): KnownAgent {
  const programs = [
    { program: bridge, command: [bridge] },
    { program: name, command: ['npx', '-y', `@agentclientprotocol/${bridge}`] },
  ];
  return { name, title, programs, keys, config };
}

/** A known agent that is installed here, and how to configure it. */
type FoundAgent = {
  name: string;
  title: string;
  /** The config of `builtin:acp`. */
  config: JsonObject;
  /** The line to add under `agents` in `.uwf/config.yaml`. */
  line: string;
};

/**
 * Finds the known agents whose program is on the PATH; nothing is started.
 *
 * Keys that are set in the environment are named in the configuration, for they are passed on only by name.
 */
export function findKnownAgents(env: Readonly<Record<string, string | undefined>>): FoundAgent[] {
  // An empty place in PATH means the current folder, in which nothing is looked for.
  const places = (env['PATH'] ?? '').split(delimiter).filter(Boolean).join(delimiter);
  return knownAgents.flatMap(({ name, title, programs, keys, config: more }) => {
    for (const { program, command } of programs) {
      if (findProgram(program, '/', places) === undefined) continue;
      const passEnv = keys.filter((key) => env[key] !== undefined);
      const config: JsonObject = { command: [...command], ...more, ...(passEnv.length > 0 && { passEnv }) };
      return [{ name, title, config, line: `${name}: { package: "builtin:acp", config: ${JSON.stringify(config)} }` }];
    }
    return [];
  });
}

/** An agent as it is configured. */
type ConfiguredAgent = { package: string; config: Readonly<Record<string, unknown>> };

/** Tells whether one of some configured agents is a known one. */
export function isConfigured(found: { name: string }, agents: readonly ConfiguredAgent[]): boolean {
  return agents.some((agent) => nameOfKnown(agent) === found.name);
}

/** The name of the known agent that a configured one is: by the program that it starts, or the bridge. */
export function nameOfKnown({ package: reference, config }: ConfiguredAgent): string | undefined {
  const { command } = config;
  if (reference !== 'builtin:acp' || !Array.isArray(command)) return undefined;
  const known = knownAgents.find(({ programs }) => {
    const names = programs.flatMap(({ program, command: words }) => [program, words[words[0] === 'npx' ? 2 : 0] ?? '']);
    return command.some((word) => typeof word === 'string' && names.some((name) => isNamed(word, name)));
  });
  return known?.name;
}

/**
 * Warns of a known agent whose questions for permission a model of its own answers, unless its `mode` says otherwise;
 * `undefined` where uwf is asked.
 */
export function warnOfMode(agent: ConfiguredAgent & { name: string }): { message: string; hint: string } | undefined {
  const known = knownAgents.find(({ name }) => name === nameOfKnown(agent));
  const mode = known?.config['mode'];
  if (known === undefined || typeof mode !== 'string' || agent.config['mode'] !== undefined) return undefined;
  return {
    message: `agent '${agent.name}' has no 'mode': ${known.title} may then permit commands and edits by itself, without asking uwf`,
    hint: `add mode: ${mode} to its config, so that its questions come to the rules of 'permissions' and to you`,
  };
}

/** A version may be named with a bridge: `@agentclientprotocol/codex-acp@2`. */
function isNamed(word: string, name: string): boolean {
  return word === name || basename(word) === name || word.startsWith(`${name}@`);
}

/** What was found out about an agent, and how. */
type TrialFinding = {
  /** For people; `no` alone under `tokens` or `cost` is read: the agent does not report them. */
  says: string;
  /** Whether `npm run test:agents` holds it with every change; else it was tried once, on the date of the trial. */
  isTested: boolean;
};

/** What is asked about every agent. */
export const TOPICS = ['permissions', 'sessions', 'tokens', 'cost', 'mcp', 'models', 'cancel'] as const;

/** A version of an agent that uwf was tried with. */
export type AgentTrial = {
  /** The agent's name among the known ones. */
  agent: string;
  title: string;
  version: string;
  /** When it was tried last. */
  date: string;
  /** What stands in its way altogether. */
  note?: string;
} & Record<(typeof TOPICS)[number], TrialFinding>;

const DATE = '2026-11-23';

function tested(says: string): TrialFinding {
  return { says, isTested: true };
}

function tried(says: string): TrialFinding {
  return { says, isTested: false };
}

/** What was found out, beside that each of them ends its turn when it is told to cancel. */
type Findings = Record<Exclude<(typeof TOPICS)[number], 'cancel'>, TrialFinding>;

function trial(agent: string, title: string, version: string, findings: Findings): AgentTrial {
  return { agent, title, version, date: DATE, ...findings, cancel: tried('yes') };
}

const claude: Findings = {
  permissions: tested('asks, with the command, under `mode: default`'),
  sessions: tested('continues'),
  tokens: tested('yes, with caches'),
  cost: tested('yes'),
  mcp: tested('yes'),
  models: tried('`model`'),
};

const notReached = tried('not reached');

/** All trials; of one agent the newest version first. docs/agents.md has them as a table. */
export const trials: readonly AgentTrial[] = [
  trial('opencode', 'opencode', '1.18.33', {
    permissions: tested('asks, with the command, where its own `permission` says `ask`'),
    sessions: tested('continues'),
    tokens: tested('of its last request: "at least"'),
    cost: tested('yes, by the prices of its configuration'),
    mcp: tested('yes'),
    models: tried('`model`'),
  }),
  trial('gemini', 'Gemini CLI', '0.61.0', {
    permissions: tested('asks; the command stands in its title alone'),
    sessions: tried('continues one that is a minute old, else it is told the whole story'),
    tokens: tried('yes'),
    cost: tried('no'),
    mcp: tested('yes, in a folder that it trusts (`GEMINI_CLI_TRUST_WORKSPACE: "true"`)'),
    models: tried('`model`'),
  }),
  trial('claude', 'Claude Code, bridge', '0.101.0', claude),
  trial('claude', 'Claude Code, bridge', '0.49.0', {
    ...claude,
    permissions: tried(claude.permissions.says),
    mcp: tried('yes'),
  }),
  trial('codex', 'Codex, bridge', '2.6.0', {
    permissions: tried('asks, with the command, for what leads out of its sandbox, under `mode: workspace-write`'),
    sessions: tried('continues'),
    tokens: tried('yes, with caches'),
    cost: tried('no'),
    mcp: tried('yes'),
    models: tried('`model`'),
  }),
  trial('copilot', 'GitHub Copilot CLI', '1.0.102', {
    permissions: tried('asks, with the command'),
    sessions: tried('continues, by loading'),
    tokens: tried('yes, with caches'),
    cost: tried('no'),
    mcp: tried('with `--additional-mcp-config`, as `uwf agent list` has it; none over ACP'),
    models: tried('none to choose with a provider of your own (`COPILOT_MODEL`)'),
  }),
  trial('qwen', 'Qwen Code', '0.24.4', {
    permissions: tested('asks, with the command, under `mode: default`'),
    sessions: tested('continues'),
    tokens: tested('yes, with cache reads'),
    cost: tested('no'),
    mcp: tested('yes'),
    models: tried('those of its configuration'),
  }),
  trial('qwen', 'Qwen Code', '0.15.10', {
    permissions: tried('asks, with the command'),
    sessions: tried('continues, by loading'),
    tokens: tried('yes, with cache reads'),
    cost: tried('no'),
    mcp: tried('yes'),
    models: tried('those of its configuration'),
  }),
  {
    agent: 'cline',
    title: 'cline',
    version: '3.0.65',
    date: DATE,
    note: 'it opens no session before a person has logged in with it (`cline auth`), and uwf says so',
    permissions: notReached,
    sessions: notReached,
    tokens: notReached,
    cost: notReached,
    mcp: notReached,
    models: notReached,
    cancel: notReached,
  },
];

/** The versions that a known agent was tried with, the newest first. */
export function trialsOf(agent: string): AgentTrial[] {
  return trials.filter((trial) => trial.agent === agent);
}
