import type { JsonObject } from '../../src/json.ts';
import type { Move } from './conversation.ts';

/**
 * Calls a tool of uwf's MCP server. Claude Code and Qwen Code tell a model only the names of such tools: one is looked for
 * first, or called through another.
 */
export function callOwnTool(tools: readonly string[], name: string, args: JsonObject): Move {
  const direct = tools.find((tool) => tool === name || tool.endsWith(`_${name}`));
  if (direct !== undefined) return { tool: direct, arguments: args };
  const hidden = `mcp__uwf__${name}`;
  if (tools.includes('tool_call')) return { tool: 'tool_call', arguments: { name: hidden, arguments: args } };
  if (tools.includes('ToolSearch')) {
    return { tool: 'ToolSearch', arguments: { query: `select:${hidden}`, max_results: 1 } };
  }
  return { text: `there is no tool ${name} among ${tools.join(', ')}` };
}
