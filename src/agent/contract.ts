// The room agent: a prompt comes in, a reply with its trace and its cost goes out. This file is the contract, which
// authors of agents implement. `load` finds the agent of a role, `command`, `llm`, `acp`, `human`, `workflow` and
// `scripted` are built in, `extract` takes the meta out of a reply, `processes` starts programs so that they end with
// the turn. An agent may be missing, fail, hang, or reply what the role's schema refuses; the engine decides what
// follows from each, so an agent only throws, or obeys the signal that stops it.

import type { JsonObject, JsonValue } from '../json.ts';
import type { Usage } from '../schema/built-in/schema-parts.ts';
import type { Said, SaidOptions } from '../thread/read-said.ts';

/** What a package says of the agents it makes. */
export type PackageDescriptor = {
  name: string;
  version: string;
  /**
   * Free words such as `sessions`, `streaming`; for people and for `uwf agent show`. uwf reads three: `usage`, the agent
   * reports tokens; `cost`, it reports what they cost; `no-model`, it asks no model, and has nothing to report.
   */
  capabilities: readonly string[];
  /** JSON Schema (2020-12) of `config`; properties with `x-uwf-record: true` are stored with the thread. */
  configSchema: JsonObject;
};

/** What every agent package exports. Built-ins are modules of the same shape. */
export interface AgentPackage {
  readonly packageDescriptor: PackageDescriptor;
  createAgent(config: JsonObject): Agent | Promise<Agent>;
}

export type { Usage };

/** What a million tokens cost, in US dollars. Tokens of caches for which no price is given cost as much as other input. */
export type TokenPrice = {
  inputPerMTok: number;
  outputPerMTok: number;
  cacheReadPerMTok?: number;
  cacheWritePerMTok?: number;
};

/**
 * An event of an agent's work. The live view shows events as they come, and the step's trace keeps them in their order.
 *
 * An agent that knows where turns of its model begin and end reports `turn-start` and `turn-end`. For other agents, a turn
 * begins with the first event, and a further one with the first text, thought or call after a tool's result.
 */
export type AgentEvent =
  /** The agent asks its model; `input` is the part of the request that the model has not had before. */
  | { kind: 'turn-start'; input: string }
  | { kind: 'turn-end'; usage?: Usage }
  /** A piece of the reply, as it arrives; pieces are joined as they are. */
  | { kind: 'text'; text: string }
  | { kind: 'thought'; text: string }
  /** The agent's plan. Each one replaces the one before. */
  | { kind: 'plan'; text: string }
  | { kind: 'tool-call'; id: string; name: string; arguments: JsonValue }
  | { kind: 'tool-result'; id: string; result: string; durationMs: number; isError?: boolean }
  /** The agent was kept from something: a permission that was denied, a path outside its folder. */
  | { kind: 'refusal'; text: string }
  /** The agent waits for this time before it asks its model again. `text` is the reason, such as a busy server. */
  | { kind: 'pause'; text: string; durationMs: number }
  /** What the whole turn of the role has cost so far. */
  | { kind: 'usage'; usage: Usage }
  /**
   * The agent has put its prompt into this session. If the turn is cut off once the model has answered, the next one continues
   * the session.
   */
  | { kind: 'session'; session: string }
  /** The agent has started a process group (its leader's pid). A stop, or the next holder of the lease, can then end it. */
  | { kind: 'process-group'; pgid: number };

/** The thread's content-addressed store as an agent sees it. */
export interface AgentCas {
  put(text: string, options?: { title?: string }): Promise<string>;
  get(hash: string): Promise<JsonValue | undefined>;
  list(): Promise<string[]>;
}

/** How a child thread that an agent called has ended, or why it is suspended. */
export type ChildOutcome =
  | {
      kind: 'ended';
      endHash: string;
      threadId: string;
      returnCode: number;
      outcome: 'completed' | 'failed' | 'cancelled';
      summary: string;
    }
  | { kind: 'suspended'; threadId: string; reason: string };

/**
 * Asks a person at a terminal.
 * @param options with `keys`, the answer is the first of these keys that the person presses; with `isLine`, it is one line; else
 *   it is a text of any number of lines. The question is withdrawn when `signal` is aborted
 * @returns '' if the person gives no answer
 */
export type AskPerson = (
  question: string,
  options?: { keys?: string; isLine?: boolean; signal?: AbortSignal },
) => Promise<string>;

/** One turn that the engine asks for. */
export type AgentRequest = {
  threadId: string;
  role: string;
  /** The whole prompt. On a retry in a session that still runs: only the errors of the last reply. */
  prompt: string;
  /**
   * The prompt for an agent that cannot continue its `session`: it has all that happened in the thread, not only what happened
   * since the role's last turn. Equals `prompt` if there is no session.
   */
  promptWithoutSession: string;
  /** The user's own words, for agents that do not read the whole prompt: the task, and what was added after an end. */
  task: string;
  /** The prompt of the rule that chose the role; undefined if the rule has none. */
  edgePrompt: string | undefined;
  /** The prompt for a person: what was asked and said so far, and the question, without the format of a reply. */
  forPerson?: { briefing: string; question: string };
  /** Where to work; absolute. */
  cwd: string;
  /** A folder of this step with the role's schema in it (`schema.json`), removed afterwards; absolute. */
  stepDir: string;
  /** JSON Schema of the reply's meta. */
  outputSchema: JsonObject;
  /** 0 for the first try of this step, then 1, 2 … */
  attempt: number;
  /** How often this role ran before in this thread. */
  visit: number;
  /** The session to continue, as an earlier reply on this machine named it. */
  session: string | undefined;
  /** What a person answered when this role stopped. If the turn that gets it fails, the next turn gets it again. */
  answer: string | undefined;
  /** The reason with which the role stopped; set if a person on this machine has answered it just now. */
  question?: string | undefined;
  /** The whole environment for child processes: uwf's own, with UWF_THREAD, UWF_ROLE, UWF_STEP_DIR and PATH set. */
  env: Readonly<Record<string, string>>;
  /** What its tokens cost, where that is configured: uwf adds it up, for usage that is reported without a cost. */
  price?: TokenPrice;
  /** True in a test of the agent: it offers its model no tool but the one that reports the result. */
  withoutTools?: boolean;
  /** Aborted on stop, cancel, time-out; the agent ends its processes and rejects or returns soon. */
  signal: AbortSignal;
  emit(event: AgentEvent): void;
  cas: AgentCas;
  /** What was said in the thread so far: the task, and the replies of all roles, oldest first. */
  readThread(options?: SaidOptions): Promise<Said[]>;
  /**
   * Starts a child thread, or goes on with the one that the same call started earlier, and runs it to its end. A turn may
   * call several, one after another or at once.
   *
   * A call is identified by `key` (1 to 1,000 characters), or else by the workflow, the prompt, and the number of earlier calls
   * of this try with both. The same call in another try of the turn leads to the same child, whatever the order of calls, also
   * after a crash or a suspension. So no child is paid for twice. The step takes in the children that the last try called.
   * @throws if `key` was given to a call with another workflow or prompt
   */
  runChild(request: { workflow: string; prompt: string; signal: AbortSignal; key?: string }): Promise<ChildOutcome>;
  /** Asks the person at the terminal; `undefined` where there is none. */
  askPerson: AskPerson | undefined;
};

/** What comes back from a turn. */
export type AgentReply =
  | {
      kind: 'reply';
      /** Markdown, with front matter unless `meta` is given. */
      text: string;
      /** The structured result, where the agent reports it apart from its text. Validated like front matter. */
      meta?: JsonObject;
      usage?: Usage;
      session?: string;
      agentVersion?: string;
      stopReason?: string;
      /** True if another try would repeat what was done, such as a deployment: a rejected reply then suspends the thread. */
      isFinal?: boolean;
      /** Hashes of ends of child threads that belong to the turn, in addition to those that this try called. */
      childThreads?: readonly string[];
    }
  | {
      kind: 'suspend';
      reason: string;
      cause: 'agent' | 'human' | 'permission' | 'child' | 'limit';
      text?: string;
      /** The earliest time at which the turn can succeed, in whole ms since 1970, if a busy server has named one. */
      due?: number;
      usage?: Usage;
      session?: string;
    }
  /** The attempt failed (a crash, a lost connection): kept as an attempt and tried again, unless `isFinal`. */
  | { kind: 'failed-attempt'; reason: string; text: string; usage?: Usage; session?: string; isFinal?: boolean };

/** Takes one turn of a role: all its tries, one after the other. Each turn gets a new agent. */
export interface Agent {
  /**
   * True if the agent may be run beside its turns, any number of times: for a question (`thread ask`), a summary
   * (`thread compact`) or a test (`agent test`). Any other agent, such as one that deploys, is run for turns only.
   */
  readonly answers?: boolean;
  run(request: AgentRequest): Promise<AgentReply>;
  /** Releases what lasts longer than one try, such as a process that holds the session. Called once, when the turn is over. */
  close?(): Promise<void>;
}
