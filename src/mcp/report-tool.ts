import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { readResult, RESULT_TOOL, resultToolDescription, resultToolSchema } from '../agent/extract/result-tool.ts';
import { UwfError } from '../errors.ts';
import { isJsonObject } from '../json.ts';
import { schemaWords } from '../schema/json-schema/walk-schema.ts';
import type { McpScope, McpTool } from './mcp-tool.ts';

/**
 * The tool by which an agent reports its structured result, for the turn whose step folder is given.
 *
 * What it accepts lies in the folder as `result.json`, written in one go; a later report takes its place.
 * @returns `undefined` if the folder has no `schema.json`: then no result is expected
 */
export function reportTool(stepDir: string, redaction: McpScope['redaction']): McpTool | undefined {
  const schemaFile = join(stepDir, 'schema.json');
  if (!existsSync(schemaFile)) return undefined;
  const schema: unknown = JSON.parse(readFileSync(schemaFile, 'utf8'));
  if (!isJsonObject(schema)) throw new TypeError(`${schemaFile} holds no schema`);
  return {
    name: RESULT_TOOL,
    description: resultToolDescription('then say the rest as text'),
    isReadOnly: false,
    inputSchema: resultToolSchema(schema),
    checksItself: true,
    async run(input) {
      const result = await readResult(input, schema);
      if (result.kind === 'invalid') {
        const hint = 'report it again, corrected';
        throw new UwfError(result.errors.join('\n'), { code: 'result-refused', kind: 'data', hint });
      }
      const temporary = join(stepDir, `result.${process.pid}.tmp`);
      writeFileSync(temporary, JSON.stringify(redaction().value(result.meta, schemaWords(schema))));
      renameSync(temporary, join(stepDir, 'result.json'));
      return 'The result is noted. Now say the rest as text.';
    },
  };
}
