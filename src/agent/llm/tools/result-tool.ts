import type { JsonObject } from '../../../json.ts';
import { readResult, RESULT_TOOL, RESULT_TOOL_DESCRIPTION, resultToolSchema } from '../../extract/result-tool.ts';
import { ToolFailure } from './tool.ts';
import type { Tool } from './tool.ts';

/** The tool by which the model reports its structured result; `onResult` gets one that the role's schema accepts. */
export function resultTool(schema: JsonObject, onResult: (meta: JsonObject) => void): Tool {
  return {
    name: RESULT_TOOL,
    description: RESULT_TOOL_DESCRIPTION,
    inputSchema: resultToolSchema(schema),
    checksItself: true,
    async run(input) {
      const result = await readResult(input, schema);
      if (result.kind === 'invalid') throw new ToolFailure(result.errors.join('\n'));
      onResult(result.meta);
      return 'The result is noted. Now say the rest as text, and call no more tools.';
    },
  };
}
