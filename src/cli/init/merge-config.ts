import { isDeepStrictEqual } from 'node:util';

import type * as Yaml from 'yaml';
import type { Document } from 'yaml';

import { isJsonObject, type JsonObject } from '../../json.ts';
import { UsageError } from '../errors/usage-error.ts';

/** A configuration after the merge, with the names that were added and those that had another value and were kept. */
type MergedConfig = { text: string; added: string[]; kept: string[] };

/**
 * Adds the agents and roles of one configuration to another. The existing lines stay as they are.
 *
 * @param text the configuration as it is, in YAML
 * @param addition the configuration with what to add, in YAML
 * @throws {UsageError} if `text` cannot be read
 */
export async function mergeConfig(text: string, addition: string): Promise<MergedConfig> {
  const yaml = await import('yaml');
  const source = yaml.parseDocument(addition);
  const wanted: unknown = source.toJS();
  readPresent(yaml.parseDocument(text));
  let merged = text;
  const added: string[] = [];
  const kept: string[] = [];
  for (const [section, entries] of Object.entries(isJsonObject(wanted) ? wanted : {})) {
    if (!isJsonObject(entries)) continue;
    const document = yaml.parseDocument(merged);
    const present = readPresent(document);
    const known: JsonObject = isJsonObject(present[section]) ? present[section] : {};
    const missing: [string, unknown][] = [];
    for (const [name, value] of Object.entries(entries)) {
      const where = `${section}.${name}`;
      if (!Object.hasOwn(known, name)) {
        // The node and not its value: this keeps how it was written.
        missing.push([name, source.getIn([section, name], true)]);
        added.push(where);
      } else if (!isDeepStrictEqual(known[name], value)) kept.push(where);
    }
    if (missing.length === 0) continue;
    const inserted = insertLines(yaml, merged, section, missing);
    if (present[section] === null) document.delete(section);
    if (yaml.isAlias(document.get(section, true))) {
      throw new UsageError(`'${section}' of .uwf/config.yaml is an alias: no lines can be added to it`, 'write it out');
    }
    for (const [name, node] of missing) document.setIn([section, name], node);
    // Where the section is written in an unusual way, the file is written anew.
    const result = yaml.parseDocument(inserted);
    const isSame = result.errors.length === 0 && isDeepStrictEqual(result.toJS(), document.toJS());
    merged = isSame ? inserted : document.toString(layout);
  }
  return { text: merged, added, kept };
}

const layout = { lineWidth: 120, flowCollectionPadding: true } as const;

function readPresent(document: Document): JsonObject {
  const [error] = document.errors;
  if (error) throw new UsageError(`.uwf/config.yaml cannot be read: ${error.message}`, 'mend it first');
  const present: unknown = document.toJS() ?? {};
  if (!isJsonObject(present)) throw new UsageError('.uwf/config.yaml is not a configuration', 'mend it first');
  return present;
}

/** The text with entries added behind the last one of a section, or with the section at the end. */
function insertLines(yaml: typeof Yaml, text: string, section: string, entries: readonly [string, unknown][]): string {
  const value = yaml.parseDocument(text).get(section, true);
  const last = yaml.isMap(value) ? value.items.at(-1) : undefined;
  const isBlock = yaml.isMap(value) && value.flow !== true;
  const [keyStart = 0] = isBlock && yaml.isNode(last?.key) ? (last.key.range ?? []) : [];
  const indent = isBlock ? keyStart - (text.lastIndexOf('\n', keyStart - 1) + 1) : 2;
  const lines = entries.map((entry) => yaml.stringify(new Map([entry]), layout)).join('');
  const block = lines.replaceAll(/^(?=.)/gm, ' '.repeat(indent));
  if (!isBlock) return `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${section}:\n${block}`;
  const [, end = text.length] = (yaml.isNode(last?.value) ? last.value.range : undefined) ?? [];
  const lineEnd = text[end - 1] === '\n' ? end : text.indexOf('\n', end) + 1;
  return lineEnd === 0 ? `${text}\n${block}` : text.slice(0, lineEnd) + block + text.slice(lineEnd);
}
