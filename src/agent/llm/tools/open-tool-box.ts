import type { JsonObject } from '../../../json.ts';
import { AgentBroken } from '../../agent-errors.ts';
import type { AgentRequest } from '../../contract.ts';
import type { LlmConfig } from '../llm-config.ts';
import { ToolBox } from './tool-box.ts';
import { commandTool } from './command-tool.ts';
import { fileTools, searchTool } from './file-tools.ts';
import { ownThreadTools } from './thread-tools.ts';
import type { McpTools } from './mcp-tools.ts';
import type { Tool } from './tool.ts';
import { WorkFolder } from './work-folder.ts';
import { ToolFailure } from './tool.ts';
import { readResult, RESULT_TOOL, resultToolDescription, resultToolSchema } from '../../extract/result-tool.ts';

const DEFAULT_RESULT_CHARACTERS = 30_000;

/** What the tools of a turn are told, and tell. */
export type ToolEvents = {
  redact: (text: string) => string;
  onResult: (meta: JsonObject) => void;
  onSign: () => void;
};

/**
 * Puts the tools of a turn together: those of uwf, and those of the MCP servers that the configuration names, which run
 * until `close`. In a test of the agent there is only the tool that reports the result.
 * @throws {AgentBroken} if an MCP server does not answer, or `tools` names one that is not there
 * @throws {WorkingFolderMissing} if there is no folder to work in
 */
export async function openToolBox(
  config: LlmConfig,
  request: AgentRequest,
  { redact, onResult, onSign }: ToolEvents,
): Promise<{ box: ToolBox; close: () => Promise<void> }> {
  const folder = await WorkFolder.open(request);
  const maxCharacters = config.maxToolResultCharacters ?? DEFAULT_RESULT_CHARACTERS;
  const own: Tool[] = [
    ...fileTools(folder),
    searchTool(folder),
    commandTool(folder, request, config, { onOutput: onSign, maxCharacters }),
    ...ownThreadTools(request),
  ];
  const wanted = request.withoutTools === true ? [] : config.tools;
  const servers = await connectServers({ ...config, tools: wanted }, request);
  // The result can always be reported: it touches nothing.
  const result = resultTool(request.outputSchema, onResult);
  const offered = [...own, ...servers.tools, result];
  const unknown = wanted?.find((name) => !offered.some((tool) => isCalled(tool, name)));
  if (unknown !== undefined) {
    await servers.close();
    throw new AgentBroken(`'tools' names '${unknown}', which there is not`, {
      hint: `there is ${offered.map(({ name, called = name }) => called).join(', ')}`,
    });
  }
  const isWanted = (tool: Tool): boolean => wanted?.some((name) => isCalled(tool, name)) ?? true;
  const tools = offered.filter((tool) => tool === result || isWanted(tool));
  return {
    box: new ToolBox(tools, { emit: (event) => request.emit(event), redact, maxCharacters }),
    close: servers.close,
  };
}

function isCalled(tool: Tool, name: string): boolean {
  return tool.name === name || tool.called === name;
}

async function connectServers(
  { mcpServers = {}, tools }: Pick<LlmConfig, 'mcpServers'> & { tools: readonly string[] | undefined },
  request: AgentRequest,
): Promise<McpTools> {
  const servers = Object.entries(mcpServers);
  // One of which no tool is wanted is not started.
  const wanted = servers.filter(([server]) => tools?.some((name) => name.startsWith(`${server}__`)) ?? true);
  if (wanted.length === 0) return { tools: [], close: () => Promise.resolve() };
  const { connectMcpServers } = await import('./mcp-tools.ts');
  return connectMcpServers(Object.fromEntries(wanted), request);
}

/** The tool by which the model reports its structured result; `onResult` gets one that the role's schema accepts. */
function resultTool(schema: JsonObject, onResult: (meta: JsonObject) => void): Tool {
  return {
    name: RESULT_TOOL,
    description: resultToolDescription('your work ends with it, so write your text in the same answer'),
    inputSchema: resultToolSchema(schema),
    checksItself: true,
    async run(input) {
      const result = await readResult(input, schema);
      if (result.kind === 'invalid') throw new ToolFailure(result.errors.join('\n'));
      onResult(result.meta);
      return 'The result is noted. If another call of this answer failed, correct that and report the result again.';
    },
  };
}
