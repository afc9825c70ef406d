/** What was found out about an agent, and how. */
export type TrialFinding = {
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
