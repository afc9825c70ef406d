import type { JsonObject, JsonValue } from '../json.ts';
import type { Usage } from '../schema/built-in/usage.ts';
import type { Said, SaidOptions } from '../thread/read/read-said.ts';

/** What a package says of the agents it makes. */
export type PackageDescriptor = {
  name: string;
  version: string;
  /** Free words such as `sessions`, `streaming`; for people and for `uwf agent list`. */
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

/**
 * What an agent tells while it works, in order. Feeds the live view, and becomes the step's trace.
 *
 * Turns of the model: an agent that knows where they begin and end says so. For one that does not, a turn begins with the
 * first event, and again with whatever is said or called after a tool's result.
 */
export type AgentEvent =
  /** The model is asked; `input` is what it is told that it was not told before. */
  | { kind: 'turn-start'; input: string }
  | { kind: 'turn-end'; usage?: Usage }
  /** A piece of the reply, as it arrives; pieces are joined as they are. */
  | { kind: 'text'; text: string }
  | { kind: 'thought'; text: string }
  /** What the agent means to do, whole each time. */
  | { kind: 'plan'; text: string }
  | { kind: 'tool-call'; id: string; name: string; arguments: JsonValue }
  | { kind: 'tool-result'; id: string; result: string; durationMs: number; isError?: boolean }
  /** The agent was kept from something: a permission that was denied, a path outside its folder. */
  | { kind: 'refusal'; text: string }
  /** It waits so long before it asks again, because of what `text` says: a server that wants to be left alone. */
  | { kind: 'pause'; text: string; durationMs: number }
  /** What the whole turn of the role has cost so far. */
  | { kind: 'usage'; usage: Usage }
  /** A process group the agent started (its leader's pid), so that a stop, or the next holder of the lease, can end it. */
  | { kind: 'process-group'; pgid: number };

/** The thread's content-addressed store as an agent sees it. */
export interface AgentCas {
  put(text: string, options?: { title?: string }): Promise<string>;
  get(hash: string): Promise<JsonValue | undefined>;
  list(): Promise<string[]>;
}

/** How a child thread that an agent asked for ended, or why it did not. */
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
 * @param options with `keys`, the first of them that is pressed is the answer; with `isLine`, one line; else what is written,
 *   in any number of lines. '' where nothing is answered. The question is taken back when `signal` is aborted
 */
export type AskPerson = (
  question: string,
  options?: { keys?: string; isLine?: boolean; signal?: AbortSignal },
) => Promise<string>;

/** One turn that the engine asks for. */
export type AgentRequest = {
  threadId: string;
  role: string;
  /** All that the agent is told, assembled. On a retry in a live session: the errors alone. */
  prompt: string;
  /**
   * The same for an agent whose `session` turns out to be lost: with all that happened before, not only since its last
   * turn. Equals `prompt` where there is no session.
   */
  promptWithoutSession: string;
  /** The user's own words, for agents that do not read the whole prompt: the task, and what was added after an end. */
  task: string;
  /** What the rule that chose the role says to it; undefined where it says nothing. */
  edgePrompt: string | undefined;
  /** The same for a person: what was asked and said so far, and the question; no word about the form of a reply. */
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
  /** What a person answered when this role stopped; given again where the turn that had it failed. */
  answer: string | undefined;
  /** The reason with which it stopped, where a person of this machine has answered it just now. */
  question?: string | undefined;
  /** The whole environment for child processes: uwf's own, with UWF_THREAD, UWF_ROLE, UWF_STEP_DIR and PATH set. */
  env: Readonly<Record<string, string>>;
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
   * Which call it is, is said by its key: `key` (1 to 1,000 characters), else the workflow, the prompt, and how many calls
   * of this try had both before. The same call in another try of the turn, also after a crash or a suspension and whatever
   * the order, leads to the same child, which is not paid again. The step takes in the children that the last try called.
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
      /** True where asking again would do again what was done: refused, the reply suspends the thread. */
      isFinal?: boolean;
      /** Ends of child threads, where others than those that this try called belong to the turn as well. */
      childThreads?: readonly string[];
    }
  | {
      kind: 'suspend';
      reason: string;
      cause: 'agent' | 'human' | 'permission' | 'child' | 'limit';
      text?: string;
      /** When it makes sense to go on, in whole ms since 1970: a server that is busy says until when. */
      due?: number;
      usage?: Usage;
      session?: string;
    }
  /** The attempt failed (a crash, a lost connection): kept as an attempt and tried again, unless `isFinal`. */
  | { kind: 'failed-attempt'; reason: string; text: string; usage?: Usage; session?: string; isFinal?: boolean };

/** Takes one turn of a role: all tries of it, one after the other. Another turn gets an agent of its own. */
export interface Agent {
  /**
   * True where it may be asked something beside its turns, as often as a person likes: a question (`thread ask`), a summary, a
   * test (`agent test`). An agent that does not say so, such as one that deploys, is run for turns alone.
   */
  readonly answers?: boolean;
  run(request: AgentRequest): Promise<AgentReply>;
  /** Lets go of what outlives a try, such as a process that holds the session. Called once, when the turn is over. */
  close?(): Promise<void>;
}
