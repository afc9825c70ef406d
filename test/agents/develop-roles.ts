import type { JsonObject } from '../../src/json.ts';
import { callOwnTool } from './call-tool.ts';
import type { Conversation, Move } from './conversation.ts';

/** The tools of the agents that do the same, and how each wants to be told. */
const SHELL = { bash: 'command', run_shell_command: 'command', Bash: 'command' };
const WRITE = { write: 'filePath', write_file: 'file_path', Write: 'file_path' };

/** The hash that uwf shows in examples. */
const SAMPLE = '0123456789ABC';
const HASH = /\b[0-9A-HJKMNP-TV-Z]{13}\b/gu;

/**
 * Tells in which role an agent was asked last, and how often it was: from the session, which has all earlier prompts; or
 * where the agent has lost it from the prompt, which then tells what has been done.
 */
export function findRole(prompts: readonly string[]): { role: string; visit: number; prompt: string } | undefined {
  const asked = prompts.flatMap((prompt) => {
    const role = /^# You are (\w+)$/mu.exec(prompt)?.[1];
    return role === undefined ? [] : [{ role, prompt }];
  });
  const last = asked.at(-1);
  if (last === undefined) return undefined;
  const inSession = asked.filter(({ role }) => role === last.role).length;
  const told = new RegExp(`${last.role}: now, for the (\\d+)`, 'u').exec(last.prompt)?.[1];
  return { ...last, visit: Math.max(inSession, Number(told ?? 1)) };
}

/**
 * What the model of the workflow `develop` says next. It knows how often its role was asked only from the conversation.
 * @param folder where the agent works
 */
export function nextMove({ prompts, results, tools }: Conversation, folder: string): Move {
  const asked = findRole(prompts);
  if (asked === undefined || tools.length === 0) return { text: 'A title' };
  const steps = plays[asked.role]?.(asked.prompt, asked.visit, results, folder, prompts) ?? [];
  const step = steps[results.length];
  if (step === undefined) return { text: `nothing is known of the role ${asked.role}` };
  if ('say' in step) return { text: step.say };
  if ('report' in step) return callOwnTool(tools, 'report_result', { result: step.report });
  const [names, rest] = 'shell' in step ? [SHELL, { description: 'runs it' }] : [WRITE, { content: step.content }];
  const entry = Object.entries(names).find(([name]) => tools.includes(name));
  if (entry === undefined) return { text: `no tool of ${Object.keys(names).join(', ')} among ${tools.join(', ')}` };
  const [tool, key] = entry;
  return { tool, arguments: { ...rest, [key]: 'shell' in step ? step.shell : step.write } };
}

/** `report`: by the tool of uwf's MCP server. */
type Step = { say: string } | { report: JsonObject } | { shell: string } | { write: string; content: string };
type Play = (
  prompt: string,
  visit: number,
  results: readonly string[],
  folder: string,
  earlier: readonly string[],
) => Step[];

const plays: Record<string, Play> = {
  planner: (_prompt, _visit, results) => {
    const hashes = results.map((result) => result.match(HASH)?.[0] ?? 'nothing');
    return [
      { shell: "uwf cas put - <<'END'\n# Greet\nPrint a greeting.\n## Acceptance\nIt says hello.\nEND" },
      { shell: "uwf cas put - <<'END'\n# Tell of it\nSay so in the README.\n## Acceptance\nIt is there.\nEND" },
      {
        say: reply(
          `$status: planned\nphases:\n  - { hash: ${hashes[0]}, title: Greet }\n  - { hash: ${hashes[1]}, title: Tell of it }`,
          'Two phases.',
        ),
      },
    ];
  },
  coder: (prompt, visit, results, folder, earlier) => {
    // What the rule says stands last. Where it names no phase, it is known from what was asked in the session before,
    // or else from the plan itself.
    const now = prompt.slice(prompt.lastIndexOf('\n# ')).match(HASH)?.[0];
    const known =
      now ??
      [...earlier, ...results]
        .join('\n')
        .match(HASH)
        ?.find((hash) => hash !== SAMPLE);
    return [
      { shell: known === undefined ? 'uwf step show 1 --thread "$UWF_THREAD" --json=meta' : `uwf cas get ${known}` },
      { write: `${folder}/greeting-${visit}.txt`, content: `Hello for the ${visit}. time.\n` },
      { say: reply(`$status: done\ncompletedPhase: "${known}"`, `Greeted for the ${visit}. time.`) },
    ];
  },
  reviewer: (_prompt, visit) => [
    { shell: 'git status --short' },
    {
      say:
        visit === 1
          ? reply("$status: rejected\nfindings: ['greet once more']", 'Not yet.')
          : reply('$status: approved', 'I would take this over.'),
    },
  ],
  tester: (_prompt, visit) => [
    { shell: 'ls' },
    { say: reply(`$status: ${visit === 1 ? 'failed' : 'passed'}`, visit === 1 ? 'One is missing.' : 'All there.') },
  ],
  committer: (_prompt, _visit, results) => [
    { shell: 'git add greeting-*.txt && git commit -q -m "Greet everybody" && git rev-parse HEAD' },
    { report: { $status: 'committed', commit: results[0]?.match(/\b[0-9a-f]{40}\b/u)?.[0] ?? 'none' } },
    { say: 'Committed.\n' },
  ],
};

function reply(fields: string, text: string): string {
  return `---\n${fields}\n---\n${text}\n`;
}
