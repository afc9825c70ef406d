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
  /** What it does not report of its usage, in the newest version that uwf was tried with: see docs/agents.md. */
  silentOf: readonly ('tokens' | 'cost')[];
};

/** uwf's MCP server as the Copilot CLI wants it; the turn is told to it by the environment. */
export const COPILOT_SERVER = '{"mcpServers":{"uwf":{"command":"uwf","args":["mcp"],"tools":["*"]}}}';

/** They are found in this order. */
export const knownAgents: readonly KnownAgent[] = [
  // Its own default is a model that answers most questions for permission, so that the rules of `permissions` are not asked.
  bridged('claude', 'Claude Code', 'claude-agent-acp', {
    keys: ['ANTHROPIC_API_KEY'],
    config: { mode: 'default' },
  }),
  bridged('codex', 'Codex', 'codex-acp', {
    keys: ['OPENAI_API_KEY'],
    config: { mode: 'workspace-write' },
    silentOf: ['cost'],
  }),
  native('gemini', 'Gemini CLI', ['gemini', '--acp'], {
    keys: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    silentOf: ['cost'],
  }),
  native('opencode', 'opencode', ['opencode', 'acp']),
  native('goose', 'goose', ['goose', 'acp']),
  native('cursor', 'Cursor', ['cursor-agent', 'acp'], { keys: ['CURSOR_API_KEY'] }),
  // Over ACP it takes no server that is started with a command: it starts uwf's by itself.
  native('copilot', 'GitHub Copilot CLI', ['copilot', '--acp', '--stdio', '--additional-mcp-config', COPILOT_SERVER], {
    silentOf: ['cost'],
  }),
  native('qwen', 'Qwen Code', ['qwen', '--acp'], {
    keys: ['OPENAI_API_KEY'],
    config: { mode: 'default' },
    silentOf: ['cost'],
  }),
  native('kimi', 'Kimi CLI', ['kimi', 'acp']),
  native('cline', 'cline', ['cline', '--acp']),
];

function native(
  name: string,
  title: string,
  command: readonly [string, ...string[]],
  more: Partial<KnownAgent> = {},
): KnownAgent {
  const programs = [{ program: command[0], command }];
  return { name, title, programs, keys: [], config: {}, silentOf: [], ...more };
}

/** An agent that npx starts with a bridge, if the bridge is not installed. */
function bridged(name: string, title: string, bridge: string, more: Partial<KnownAgent>): KnownAgent {
  const programs = [
    { program: bridge, command: [bridge] },
    { program: name, command: ['npx', '-y', `@agentclientprotocol/${bridge}`] },
  ];
  return { ...native(name, title, [bridge], more), programs };
}

/** A known agent that is installed here, and how to configure it. */
type FoundAgent = Pick<KnownAgent, 'name' | 'title'> & {
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

type ConfiguredAgent = { package: string; config: Readonly<Record<string, unknown>> };

/** Tells whether one of some configured agents is a known one. */
export function isConfigured(found: { name: string }, agents: readonly ConfiguredAgent[]): boolean {
  return agents.some((agent) => findKnown(agent)?.name === found.name);
}

/** The known agent that a configured one is: by the program that it starts, or the bridge. */
export function findKnown({ package: reference, config }: ConfiguredAgent): KnownAgent | undefined {
  const { command } = config;
  if (reference !== 'builtin:acp' || !Array.isArray(command)) return undefined;
  return knownAgents.find(({ programs }) => {
    const names = programs.flatMap(({ program, command: words }) => [program, words[words[0] === 'npx' ? 2 : 0] ?? '']);
    return command.some((word) => typeof word === 'string' && names.some((name) => isNamed(word, name)));
  });
}

/**
 * Warns of a known agent whose questions for permission a model of its own answers, unless its `mode` says otherwise;
 * `undefined` where uwf is asked.
 */
export function warnOfMode(agent: ConfiguredAgent & { name: string }): { message: string; hint: string } | undefined {
  const known = findKnown(agent);
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
