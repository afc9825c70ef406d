import type { NodeHash } from '../../cas/hash.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { isJsonObject, type JsonObject } from '../../json.ts';
import {
  anyObject,
  anyText,
  builtInObject,
  closedObject,
  costUsd,
  count,
  DIALECT,
  isolation,
  type Isolation,
  isSet,
  type Limits,
  limitsSchema,
  mapOf,
  objectId,
  redacted,
  type Redacted,
  ref,
  refList,
  type ThreadLimits,
  threadLimitsSchema,
  timeMs,
  type Usage,
  usageOrNull,
  word,
} from './schema-parts.ts';

/** A rule of the moderator; the first whose `from` is the last role and whose `when` holds decides. */
export type Rule = {
  /** A role, `__start__` or `__resume__`. */
  from: string;
  /** A role or `__end__`. */
  to: string;
  /** JSONata; null always holds. */
  when: string | null;
  /** A Liquid template: what the next role is told, or the summary on a rule to `__end__`. */
  prompt?: string;
  /** A Liquid template: where the next role works. */
  location?: string;
  /** Only on a rule to `__end__`: 0 or absent is success. */
  returnCode?: number;
  /** The rule decides only where a limit keeps the role from running that the others give the turn to. */
  on?: 'limit';
};

/** A workflow's definition, whatever notation it was written in. */
export type Workflow = {
  name: string;
  description: string;
  /** Each role's name and its {@link Role} node. */
  roles: Record<string, NodeHash>;
  /** In the order in which they are tried. */
  moderator: Rule[];
  limits?: ThreadLimits;
  /** By names that no role has. Its form is not fixed by this schema; the link `schema` leads to that of its meta. */
  blocks?: Record<string, JsonObject>;
  /** Whether threads have a work tree of their own; absent: where the caller asks for it. */
  isolation?: Isolation;
};

export const workflowSchema: JsonObject = builtInObject(
  'workflow',
  'Roles, and the rules by which a moderator hands the work from one to the next.',
  {
    name: { type: 'string', pattern: '^[a-z0-9][a-z0-9._-]{0,63}$' },
    description: anyText,
    roles: mapOf(ref('role')),
    moderator: {
      type: 'array',
      items: closedObject(
        {
          from: word,
          to: word,
          when: { type: ['string', 'null'], minLength: 1 },
          prompt: anyText,
          location: anyText,
          returnCode: { type: 'integer', minimum: 0, maximum: 255 },
          on: { enum: ['limit'] },
        },
        ['prompt', 'location', 'returnCode', 'on'],
      ),
    },
    limits: threadLimitsSchema,
    blocks: { ...mapOf(anyObject), minProperties: 1 },
    isolation,
  },
  ['limits', 'blocks', 'isolation'],
);

export const roleSchemaSchema: JsonObject = {
  $schema: DIALECT,
  title: 'role-schema',
  description: 'A JSON Schema (draft 2020-12) that the structured part of the replies of a role satisfies.',
  $ref: DIALECT,
};

/** What a schema cannot say of a reply: JSONata over `$meta`, `$steps`, `$start`; false makes the reply invalid. */
export type RoleCheck = { expression: string; message: string };

/** A role, all notations reduced to this. */
export type RoleDefinition = {
  /** For people and for the other roles. */
  description: string;
  /** What the agent in this role is told first. */
  systemPrompt: string;
  /** What is said of the meta that the reply has to report. */
  extractPrompt: string;
  /** JSON Schema 2020-12 of the reply's meta (front matter). */
  schema: JsonObject;
  check?: RoleCheck[];
  limits?: Limits;
  /** Further tries after a reply that does not validate; default 2. */
  retries?: number;
  /** Whether the work tree is kept with the step: never, always, or when it changed. */
  snapshot?: 'off' | 'on' | 'changed';
  /** Where the agent works, relative to the work tree's top. */
  cwd?: string;
  /** Whether it works in the thread's own work tree; default: as the workflow says. */
  isolation?: Isolation;
  /** Labels that a machine must have to take its turns unasked: sorted, each once. Absent: none. */
  needs?: string[];
};

/** One role of a stored workflow; its schema is a node of type `role-schema`. */
export type Role = Omit<RoleDefinition, 'schema'> & { name: string; schema: NodeHash };

export const roleSchema: JsonObject = builtInObject(
  'role',
  'One role of a workflow: what its agent is told, and what its replies report.',
  {
    name: word,
    description: anyText,
    systemPrompt: anyText,
    extractPrompt: anyText,
    schema: ref('role-schema'),
    check: { type: 'array', items: closedObject({ expression: word, message: anyText }) },
    limits: limitsSchema,
    retries: count,
    snapshot: { enum: ['off', 'on', 'changed'] },
    cwd: word,
    isolation,
    needs: { type: 'array', items: word, minItems: 1, uniqueItems: true },
  },
  ['check', 'limits', 'retries', 'snapshot', 'cwd', 'isolation', 'needs'],
);

/** A record of which agent ran; what runs is resolved from local configuration every time. */
export type AgentRecord = {
  /** The name in the configuration. */
  name: string;
  /** An npm package, or `builtin:…`. */
  package: string;
  version: string;
  /**
   * The configured properties whose schema says `x-uwf-record: true`, never a secret. May hold `{ "$cas": … }` links, as
   * to the workflow that `builtin:workflow` runs.
   */
  config: JsonObject;
};

/** The package that the record of a block names: no agent runs a block, its branches do. */
export const BLOCK_PACKAGE = 'builtin:block';

/** The package that the record of a suspension names whose turn no rule gave yet: one of them exceeds its limits. */
export const RULES_PACKAGE = 'builtin:rules';

const HUMAN_PACKAGE = 'builtin:human';

/** Tells whether the turns of an agent are those of a person. */
export function isPerson(agent: Pick<AgentRecord, 'package'>): boolean {
  return agent.package === HUMAN_PACKAGE;
}

const COMMAND_PACKAGE = 'builtin:command';

/** Tells whether a step is that of a program: how the program ended gave the status, and the text is its output. */
export function isOfProgram(
  { package: name, config }: Pick<AgentRecord, 'package' | 'config'>,
  meta: JsonObject,
): boolean {
  const { statuses } = config;
  if (name !== COMMAND_PACKAGE || !isJsonObject(statuses)) return false;
  return Object.values(statuses).some((status) => status === meta['$status']);
}

export const agentSchema: JsonObject = builtInObject(
  'agent',
  'A record of the agent that ran: its package and what may be known of its configuration. Nothing is run from it.',
  { name: word, package: word, version: anyText, config: { type: 'object' } },
);

/** A text, stored as the text itself where it has no refs. */
export type Content = {
  text: string;
  /** Nodes that came with the text: what was put while it was made. Absent when there are none. */
  refs?: NodeHash[];
};

export const contentSchema: JsonObject = builtInObject(
  'content',
  'A text, and the nodes that came with it.',
  { text: anyText, refs: { ...refList(), minItems: 1 } },
  ['refs'],
);

/** A git object that a thread keeps: a commit of the code, a folder, a file. */
export type Artifact = {
  kind: 'commit' | 'tree' | 'blob';
  oid: ObjectId;
  /** Where it lies in the repository's work tree, if it does. */
  path?: string;
  /** For people. */
  title: string;
};

export const artifactSchema: JsonObject = builtInObject(
  'artifact',
  'A commit, folder or file of the repository that a thread keeps.',
  { kind: { enum: ['commit', 'tree', 'blob'] }, oid: objectId, path: word, title: anyText },
  ['path'],
);

/** A try that came to nothing. */
export type Attempt = {
  /** What the agent said, a {@link Content}. */
  content: NodeHash;
  /** Why it did not count, one line each; of a reply that was refused, as the agent was told. */
  errors: string[];
  /** null where the agent reports none. */
  usage: Usage | null;
  redacted?: Redacted;
  /**
   * Present if its turn was cut off before an outcome was stored. A later turn, or the end, of the thread has stored what it
   * used.
   */
  interrupted?: true;
};

export const attemptSchema: JsonObject = builtInObject(
  'attempt',
  'A reply that did not count, and why.',
  {
    content: ref('content'),
    errors: { type: 'array', items: anyText },
    usage: usageOrNull,
    redacted,
    interrupted: isSet,
  },
  ['redacted', 'interrupted'],
);

/** The trace of one step: how the agent came to its reply. */
export type ReactSession = {
  /** The {@link AgentRecord}. */
  agent: NodeHash;
  role: string;
  /** The {@link ReactTurn}s, oldest first. */
  turns: NodeHash[];
  totalTokens: number;
  durationMs: number;
};

export const reactSessionSchema: JsonObject = builtInObject('react-session', 'How an agent came to its reply.', {
  agent: ref('agent'),
  role: word,
  turns: refList('react-turn'),
  totalTokens: count,
  durationMs: count,
});

/** One exchange with the model. */
export type ReactTurn = {
  /** What it was given, a {@link Content}. */
  input: NodeHash;
  /** What it said, a {@link Content}. */
  output: NodeHash;
  /** The {@link ReactToolCall}s, in order. */
  toolCalls: NodeHash[];
  /** Thoughts and plans, each a {@link Content}. */
  parts?: NodeHash[];
  tokens: TurnTokens;
  /** In US dollars; absent where the agent does not say. */
  costUsd?: number;
  startedAtMs: number;
  latencyMs: number;
};

export const reactTurnSchema: JsonObject = builtInObject(
  'react-turn',
  'One exchange with the model: what it was given, what it said, and the tools it called.',
  {
    input: ref('content'),
    output: ref('content'),
    toolCalls: refList('react-tool-call'),
    parts: refList('content'),
    tokens: closedObject({ input: count, output: count, cacheRead: count, cacheWrite: count }, [
      'cacheRead',
      'cacheWrite',
    ]),
    costUsd,
    startedAtMs: timeMs,
    latencyMs: count,
  },
  ['parts', 'costUsd'],
);

/** The tokens of one exchange; those of a cache are absent where the agent does not say. */
export type TurnTokens = { input: number; output: number; cacheRead?: number; cacheWrite?: number };

/** One call of a tool. */
export type ReactToolCall = {
  name: string;
  /** A {@link Content}; mostly JSON. */
  arguments: NodeHash;
  /** A {@link Content}. */
  result: NodeHash;
  durationMs: number;
};

export const reactToolCallSchema: JsonObject = builtInObject(
  'react-tool-call',
  'A tool that was called, what it was given and what it gave back.',
  { name: anyText, arguments: ref('content'), result: ref('content'), durationMs: count },
);
