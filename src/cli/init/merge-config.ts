import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, type JsonObject } from '../../json.ts';
import { UsageError } from '../usage-error.ts';

/** What a configuration looks like that nobody has written yet. */
export const NEW_CONFIG = `# yaml-language-server: $schema=schemas/config.json
# Who does the roles of workflows here: read by uwf, shared with everybody who works on this repository.
# A file of the same form in the git folder (.git/uwf/config.yaml) is this machine's own, and wins.
#
# agents:
#   tests: { package: "builtin:command", config: { argv: [npm, test], statuses: { 0: passed, default: failed }, output: both } }
#   me:    { package: "builtin:human" }
# defaultAgent: me             # does every role that is not named below
# roles:
#   develop.tester: tests      # workflow.role, or role
`;

/** A configuration after lines were added, and what stands in it otherwise already and was left. */
export type MergedConfig = { text: string; added: string[]; kept: string[] };

/**
 * Adds the agents and roles of one configuration to another; what is there stays as it is, comments included.
 *
 * @param text the configuration as it is, in YAML
 * @param addition the configuration with what to add, in YAML
 * @throws {UsageError} if `text` cannot be read
 */
export async function mergeConfig(text: string, addition: string): Promise<MergedConfig> {
  const { parseDocument } = await import('yaml');
  const document = parseDocument(text);
  const [error] = document.errors;
  if (error) throw new UsageError(`.uwf/config.yaml cannot be read: ${error.message}`, 'mend it first');
  const present: unknown = document.toJS() ?? {};
  if (!isJsonObject(present)) throw new UsageError('.uwf/config.yaml is no configuration', 'mend it first');
  const added: string[] = [];
  const kept: string[] = [];
  const source = parseDocument(addition);
  const wanted: unknown = source.toJS();
  for (const [section, entries] of Object.entries(isJsonObject(wanted) ? wanted : {})) {
    if (!isJsonObject(entries)) continue;
    const known: JsonObject = isJsonObject(present[section]) ? present[section] : {};
    for (const [name, value] of Object.entries(entries)) {
      const where = `${section}.${name}`;
      if (!Object.hasOwn(known, name)) {
        // The node and not its value, so that it is written as it was.
        document.setIn([section, name], source.getIn([section, name], true));
        added.push(where);
      } else if (!isDeepStrictEqual(known[name], value)) kept.push(where);
    }
  }
  return { text: added.length === 0 ? text : document.toString({ lineWidth: 120 }), added, kept };
}
