import { readRegularFile } from '../../git/read-regular-file.ts';
import { isJsonObject } from '../../json.ts';
import { AgentBroken } from '../agent-errors.ts';
import { checkValue } from '../check-value.ts';
import { scriptDefinitions, scriptSchema } from './script.ts';
import type { Script } from './script.ts';

/** A script is written by hand. */
const MAX_BYTES = 1024 * 1024;

/**
 * Reads a script from a YAML or JSON file: lists of replies by role.
 * @throws {AgentBroken} when it cannot be read, or is not a script; the message names the file and the place
 */
export async function loadScript(file: string): Promise<Script> {
  const hint = 'write lists of replies by role: \'writer: ["first reply", "second reply"]\'';
  const source = read(file);
  const yaml = await import('yaml');
  const document = yaml.parseDocument(source, { version: '1.2', logLevel: 'silent' });
  const [fault] = document.errors;
  if (fault !== undefined) throw new AgentBroken(`the script ${file} is not YAML: ${faultIn(fault.message)}`, { hint });
  const script: unknown = document.toJS();
  if (!isJsonObject(script)) throw new AgentBroken(`the script ${file} does not list replies by role`, { hint });
  const mistakes = await checkValue({ ...scriptSchema, $defs: scriptDefinitions }, script, 'script');
  if (mistakes.length > 0) throw new AgentBroken(`the script ${file} is not valid: ${mistakes.join('; ')}`, { hint });
  // The schema that was just checked describes this very type.
  return script as Script;
}

/** The mistake and its place; not what the file says there: a link may lead to any file. */
function faultIn(message: string): string {
  return message.replace(/:?\n[^]*$/u, '');
}

function read(file: string): string {
  try {
    return readRegularFile(file, MAX_BYTES).toString('utf8');
  } catch (cause) {
    throw new AgentBroken(`the script ${file} cannot be read`, { hint: "correct 'file' of the agent", cause });
  }
}
