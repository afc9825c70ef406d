import { join } from 'node:path';

import type { JsonObject } from '../../src/json.ts';

/** A coding agent of others, as a person would configure it; but for the server of models, which is the test's own. */
export type AgentUnderTest = {
  /** As it calls itself. */
  version: string;
  /**
   * Whether it finds a session again. The Gemini CLI overwrites one that it loads in the minute in which it began: its
   * roles are then told what happened, as is anybody who has lost a session.
   */
  keepsSessions: boolean;
  /** Whether its turn goes on after a person denied a command. If not, the turn ends without a reply. */
  goesOnAfterNo: boolean;
  /** The config of `builtin:acp`. */
  config: JsonObject;
};

const bin = join(import.meta.dirname, 'node_modules', '.bin');

/** The agents that every change is tried with. */
export const agentNames = ['opencode', 'gemini', 'claude', 'qwen'] as const;

/** `claude-0.49` is the bridge as it was before it said by itself what a session has cost. */
export type AgentName = (typeof agentNames)[number] | 'claude-0.49';

/**
 * An agent that is told to ask the server at `url` and nobody else.
 * @param home a folder for what it keeps
 */
export function agentUnderTest(name: AgentName, url: string, home: string): AgentUnderTest {
  // Whatever else they would fetch, a newer version of themselves or a list of models, ends at a closed port.
  const offline = {
    HOME: home,
    XDG_CONFIG_HOME: join(home, 'config'),
    XDG_DATA_HOME: join(home, 'data'),
    XDG_CACHE_HOME: join(home, 'cache'),
    XDG_STATE_HOME: join(home, 'state'),
    HTTPS_PROXY: 'http://127.0.0.1:9',
    HTTP_PROXY: 'http://127.0.0.1:9',
    NO_PROXY: '127.0.0.1,localhost',
  };
  return {
    opencode: {
      version: 'OpenCode 1.18.33',
      keepsSessions: true,
      goesOnAfterNo: false,
      config: {
        command: [join(bin, 'opencode'), 'acp'],
        env: {
          ...offline,
          OPENCODE_DISABLE_AUTOUPDATE: '1',
          OPENCODE_DISABLE_MODELS_FETCH: '1',
          OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
          OPENCODE_CONFIG_CONTENT: JSON.stringify(openCodeConfig(url)),
        },
      },
    },
    gemini: {
      version: 'Gemini CLI 0.61.0',
      keepsSessions: false,
      goesOnAfterNo: true,
      config: {
        command: [join(bin, 'gemini'), '--acp', '-m', 'gemini-2.5-flash'],
        env: {
          ...offline,
          GEMINI_API_KEY: 'dummy',
          GOOGLE_GEMINI_BASE_URL: url,
          GEMINI_CLI_TRUST_WORKSPACE: 'true',
          GEMINI_TELEMETRY_ENABLED: 'false',
        },
      },
    },
    claude: {
      version: 'Claude Agent 0.101.0',
      keepsSessions: true,
      goesOnAfterNo: true,
      config: {
        command: [join(bin, 'claude-agent-acp')],
        mode: 'default',
        env: { ...offline, ...claudeEnvironment(url) },
      },
    },
    'claude-0.49': {
      version: 'Claude Agent 0.49.0',
      keepsSessions: true,
      goesOnAfterNo: true,
      config: {
        command: [process.execPath, oldClaudeBridge],
        mode: 'default',
        env: { ...offline, ...claudeEnvironment(url) },
      },
    },
    qwen: {
      version: 'Qwen Code 0.24.4',
      keepsSessions: true,
      goesOnAfterNo: false,
      config: {
        command: [join(bin, 'qwen'), '--acp', '--auth-type', 'openai'],
        mode: 'default',
        env: {
          ...offline,
          OPENAI_API_KEY: 'dummy',
          OPENAI_BASE_URL: `${url}/v1`,
          OPENAI_MODEL: 'scripted',
          QWEN_TELEMETRY_ENABLED: 'false',
        },
      },
    },
  }[name];
}

/** npm gives the program of only one of two versions its name. */
const oldClaudeBridge = join(import.meta.dirname, 'node_modules', 'claude-agent-acp-0.49', 'dist', 'index.js');

function claudeEnvironment(url: string): JsonObject {
  return {
    ANTHROPIC_API_KEY: 'dummy',
    ANTHROPIC_BASE_URL: url,
    // Its price is known.
    ANTHROPIC_MODEL: 'claude-sonnet-4-5',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
  };
}

function openCodeConfig(url: string): JsonObject {
  const cost = { input: 3, output: 15, cache_read: 0.3, cache_write: 3.75 };
  return {
    autoupdate: false,
    share: 'disabled',
    model: 'scripted/scripted',
    small_model: 'scripted/scripted',
    enabled_providers: ['scripted'],
    provider: {
      scripted: {
        npm: '@ai-sdk/openai-compatible',
        options: { baseURL: `${url}/v1`, apiKey: 'dummy' },
        models: { scripted: { name: 'Scripted', tool_call: true, limit: { context: 100_000, output: 8_000 }, cost } },
      },
    },
    permission: { edit: 'ask', bash: 'ask' },
  };
}
