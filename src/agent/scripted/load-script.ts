import { readFile } from 'node:fs/promises';

import { isJsonObject } from '../../json.ts';
import { AgentBroken } from '../agent-errors.ts';
import { checkValue } from '../check-value.ts';
import { scriptDefinitions, scriptSchema } from './script.ts';
import type { Script } from './script.ts';

/**
 * Reads a script from a YAML or JSON file: lists of replies by role.
 * @throws {AgentBroken} when it cannot be read, or is not a script; the message names the file and the place
 */
export async function loadScript(file: string): Promise<Script> {
  const hint = 'write lists of replies by role: \'writer: ["first reply", "second reply"]\'';
  const source = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new AgentBroken(`the script ${file} cannot be read`, { hint: "correct 'file' of the agent", cause });
  });
  const yaml = await import('yaml');
  const document = yaml.parseDocument(source, { version: '1.2', logLevel: 'silent' });
  const [fault] = document.errors;
  if (fault !== undefined) throw new AgentBroken(`the script ${file} is not YAML: ${fault.message}`, { hint });
  const script: unknown = document.toJS();
  if (!isJsonObject(script)) throw new AgentBroken(`the script ${file} does not list replies by role`, { hint });
  const mistakes = await checkValue({ ...scriptSchema, $defs: scriptDefinitions }, script, 'script');
  if (mistakes.length > 0) throw new AgentBroken(`the script ${file} is not valid: ${mistakes.join('; ')}`, { hint });
  // The schema that was just checked describes this very type.
  return script as Script;
}
