import type { AgentBinding } from '../../src/agent/load/agent-binding.ts';
import type { AgentEvent, AgentReply } from '../../src/agent/contract.ts';
import type { Config } from '../../src/engine/config/config.ts';
import type { JsonObject } from '../../src/json.ts';
import { END, START, type Rule, type WorkflowDefinition } from '../../src/workflow/definition.ts';

/**
 * Who follows whom, as one draws it: `writer > checker > end`. The first line begins at the start of the thread, every
 * other one at its first role; `start` and `end` are the two ends. `checker [rejected]` goes on where the checker has just
 * reported that status, `checker [limit]` where a limit keeps the next role from running. A line may end in a return code
 * (`end = 7`) and in the prompt, or the summary, of its last rule: `checker [rejected] > writer: Again: {{ _body }}`. Lines
 * are tried in their order; a rule that says more is written out.
 */
export type Flow = string | readonly (string | Rule)[];

const ends: Readonly<Record<string, string>> = { start: START, end: END };

/** The rules of a flow. */
export function rulesOf(flow: Flow): Rule[] {
  return [flow].flat().flatMap((line, at) => (typeof line === 'string' ? rulesIn(line, at === 0) : [line]));
}

function rulesIn(line: string, isFirst: boolean): Rule[] {
  const [, drawn = '', code, prompt] = /^([^:=]+?)(?: = (\d+))?(?:: (.*))?$/su.exec(line) ?? [];
  const places = drawn.split(' > ').map((place) => {
    const [, name, condition] = /^([\w-]+)(?: \[([\w-]+)\])?$/u.exec(place) ?? [];
    if (name === undefined) throw new Error(`'${place}' is no place of a flow`);
    return { name: ends[name] ?? name, condition };
  });
  if (isFirst && places[0]?.name !== START) places.unshift({ name: START, condition: undefined });
  return places.slice(1).map(({ name: to }, at): Rule => {
    // There is one before each of these.
    const { name: from, condition } = places[at]!;
    const isLast = at === places.length - 2;
    return {
      from,
      to,
      when: condition === undefined || condition === 'limit' ? null : `$steps[-1].meta.\`$status\` = '${condition}'`,
      ...(condition === 'limit' && { on: 'limit' }),
      ...(isLast && prompt !== undefined && { prompt }),
      ...(isLast && code !== undefined && { returnCode: Number(code) }),
    };
  });
}

/** A visit of a scripted role: `'done: All of it.'` reports a status and says a text; else as `builtin:scripted` has it. */
export type Turn = string | JsonObject;

/** An act of an agent that reports what a test wants, in its turn. */
export type Act =
  | { emit: AgentEvent }
  /** The same event again and again; `#` in its texts becomes the number of the repetition. */
  | { emit: AgentEvent; times: number }
  | { waitMs: number }
  /** Goes on when the file is there; a relative name lies in the scenario's folder: {@link held}. */
  | { waitFor: string }
  | { reply: AgentReply }
  /** Kills the engine's process at once, like a power cut. */
  | { kill: true };

/** Waits until the test says `scene.go()`. */
export const held: Act = { waitFor: 'go' };

/** Who does a role: its visits, the acts of each try, a shell script that reads its prompt, or any agent. */
export type Player =
  | readonly Turn[]
  | { acts: readonly (readonly Act[])[] }
  | { program: string }
  | Pick<AgentBinding, 'package' | 'config' | 'price'>;

/** The reply of a status and a text, as an agent writes it. */
export function reply(status: string, text = `It is ${status}.`): string {
  return `---\n$status: ${status}\n---\n${text}\n`;
}

/** The same as a shell program prints it. */
export const print = (status: string, text: string): string =>
  `printf -- '---\\n$status: ${status}\\n---\\n${text}\\n'`;

/** A schema that wants one of some statuses. */
export function statuses(...names: string[]): JsonObject {
  return { type: 'object', properties: { $status: { enum: names } }, required: ['$status'] };
}

export type PlotOptions = {
  /** Without one, the definition has the rules. */
  flow?: Flow;
  /** By role; a role that is not named says `done`, each time. */
  agents?: Readonly<Record<string, Player>>;
  /** Schemas of the roles that report more than a status; default: the statuses that they say and that rules ask for. */
  roles?: Readonly<Record<string, JsonObject>>;
  /** What else the definition says; default: its name is `work`. */
  definition?: Partial<WorkflowDefinition>;
  /** What else the configuration says. */
  config?: Partial<Config>;
};

/** A workflow, and agents that play it. */
export type Plot = {
  definition: WorkflowDefinition;
  config: Config;
  /** Both as files of a work tree. JSON is YAML. */
  files: () => Record<string, string>;
};

const spoken = /^([\w-]+): (.*)$/su;

/** The status that a visit reports, if it does. */
function statusIn(turn: Turn): string | undefined {
  if (typeof turn === 'string') return spoken.exec(turn)?.[1];
  return /\$status: ([\w-]+)/u.exec(JSON.stringify(turn['reply'] ?? ''))?.[1];
}

/** Makes a plot. @param folder where its programs and acting agents note that they ran, and wait */
export function plotOf(
  { flow = [], agents = {}, roles = {}, definition = {}, config = {} }: PlotOptions,
  folder = '.',
): Plot {
  const moderator = rulesOf(flow);
  const names = [...new Set(moderator.flatMap(({ from, to }) => [from, to]))].filter((name) => !name.startsWith('__'));
  const blocks = Object.keys(definition.blocks ?? {});
  const players = names
    .filter((name) => !blocks.includes(name))
    .map((name) => [name, agents[name] ?? ['done: Done.']] as const);
  const schemaOf = (role: string, player: Player): JsonObject => {
    const said = isScript(player) ? player.flatMap((turn) => statusIn(turn) ?? []) : [];
    const asked = moderator
      .filter(({ from }) => from === role)
      .flatMap(({ when }) => /\$status` = '([\w-]+)'/u.exec(when ?? '')?.[1] ?? []);
    const all = [...new Set([...said, ...asked])];
    return statuses(...(all.length > 0 ? all : ['done']));
  };
  const described = players.map(([role, player]) => [
    role,
    {
      description: `the ${role}`,
      systemPrompt: `Be the ${role}.`,
      extractPrompt: '',
      schema: roles[role] ?? schemaOf(role, player),
    },
  ]);
  const whole: WorkflowDefinition = {
    name: 'work',
    description: 'works',
    moderator,
    ...definition,
    roles: { ...(Object.fromEntries(described) as WorkflowDefinition['roles']), ...definition.roles },
  };
  const bindings = configOf(players.concat(Object.entries(agents).filter(([role]) => !names.includes(role))), folder);
  const all = {
    ...bindings,
    ...config,
    agents: { ...bindings.agents, ...config.agents },
    roles: { ...bindings.roles, ...config.roles },
  };
  return { definition: whole, config: all, files: () => filesOf(whole, all) };
}

const isScript = (player: Player): player is readonly Turn[] => Array.isArray(player);

function configOf(players: readonly (readonly [string, Player])[], folder: string): Config {
  const replies: Record<string, Turn[]> = {};
  const acts: Record<string, unknown> = {};
  const agents: Config['agents'] = {};
  const roles: Config['roles'] = {};
  for (const [role, player] of players) {
    if (isScript(player)) {
      replies[role] = player.map((turn) => {
        const [, status, text] = spoken.exec(typeof turn === 'string' ? turn : '') ?? [];
        return status === undefined ? turn : reply(status, text);
      });
    } else if ('acts' in player) {
      acts[role] = player.acts;
      roles[role] = 'reporter';
    } else {
      const argv =
        'program' in player ? ['sh', '-c', `echo "$UWF_ROLE" >> '${folder}/runs'; ${player.program}`] : undefined;
      const agent =
        argv === undefined ? (player as AgentBinding) : { package: 'builtin:command', config: { argv, graceMs: 300 } };
      agents[`${role}-agent`] = { ...agent, name: `${role}-agent` };
      roles[role] = `${role}-agent`;
    }
  }
  agents['script'] = { name: 'script', package: 'builtin:scripted', config: { replies, repeat: true } };
  // What a test's acts are is JSON.
  if (Object.keys(acts).length > 0) {
    agents['reporter'] = { name: 'reporter', package: 'reporting-agent', config: { roles: acts as never, folder } };
  }
  return { agents, roles, defaultAgent: 'script' };
}

/** Only what a person would write: no `extractPrompt`, no names of agents in agents. */
function filesOf({ name, roles, ...rest }: WorkflowDefinition, { agents, ...config }: Config): Record<string, string> {
  const written = Object.entries(roles).map(([role, { extractPrompt: _prompt, ...more }]) => [role, more]);
  const bindings = Object.entries(agents).map(([agent, { name: _name, ...more }]) => [agent, more]);
  return {
    [`.uwf/workflows/${name}.yaml`]: JSON.stringify({ name, roles: Object.fromEntries(written), ...rest }),
    '.uwf/config.yaml': JSON.stringify({ agents: Object.fromEntries(bindings), ...config }),
  };
}
