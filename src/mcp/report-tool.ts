import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { readResult, RESULT_TOOL, RESULT_TOOL_DESCRIPTION, resultToolSchema } from '../agent/extract/result-tool.ts';
import { UwfError } from '../errors.ts';
import type { JsonObject } from '../json.ts';
import { schemaWords } from '../schema/schema-words.ts';
import type { McpContext, McpTool } from './mcp-tool.ts';

/** What was reported is not what the role's schema asks for. */
class ResultRefused extends UwfError {
  constructor(errors: readonly string[]) {
    super(errors.join('\n'), { code: 'result-refused', kind: 'data', hint: 'report it again, corrected' });
  }
}

/**
 * The tool by which an agent reports its structured result, for the turn whose step folder is given.
 *
 * What it accepts lies in the folder as `result.json`, written in one go; a later report takes its place.
 * @returns `undefined` where the folder has no `schema.json`: nobody waits for a result
 */
export function reportTool(stepDir: string, redaction: McpContext['redaction']): McpTool | undefined {
  const schemaFile = join(stepDir, 'schema.json');
  if (!existsSync(schemaFile)) return undefined;
  // The engine wrote it: the schema of the role.
  const schema = JSON.parse(readFileSync(schemaFile, 'utf8')) as JsonObject;
  return {
    name: RESULT_TOOL,
    description: RESULT_TOOL_DESCRIPTION,
    isReadOnly: false,
    inputSchema: resultToolSchema(schema),
    checksItself: true,
    async run(input) {
      const result = await readResult(input, schema);
      if (result.kind === 'invalid') throw new ResultRefused(result.errors);
      const temporary = join(stepDir, `result.${process.pid}.tmp`);
      writeFileSync(temporary, JSON.stringify(redaction().value(result.meta, schemaWords(schema))));
      renameSync(temporary, join(stepDir, 'result.json'));
      return 'The result is noted. Now say the rest as text.';
    },
  };
}
