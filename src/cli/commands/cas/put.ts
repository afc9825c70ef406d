import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { getNode } from '../../../cas/node-source.ts';
import type { JsonValue } from '../../../json.ts';
import { builtIn } from '../../../schema/built-in.ts';
import { putNode } from '../../../schema/put-node.ts';
import { PINS_REF } from '../../../thread/thread-refs.ts';
import { defineCommand, type Command } from '../../command.ts';
import { findType } from '../../find-type.ts';
import { readText } from '../../input/read-text.ts';
import { openToWrite } from '../../open-repository.ts';
import { scopeOf, threadOption } from '../../thread-scope.ts';
import { UsageError } from '../../usage-error.ts';

export const command: Command = defineCommand({
  summary: 'store a text or a value',
  description: `Stores a text as a node and prints the node's hash. Under a thread it is kept until the next step takes it in, and then
as long as the thread; without one until 'uwf cas rm'. With --type it is JSON that has to satisfy that schema.

What is given is the text itself; '-' reads it from stdin, --file from a file.`,
  arguments: [{ name: 'text', summary: "the text, or '-' for stdin", isOptional: true }],
  options: {
    thread: threadOption,
    file: { short: 'F', value: '<file>', summary: "store what is in this file; '-' is stdin", candidates: 'file' },
    type: {
      value: '<schema>',
      summary: 'it is JSON of this type: the hash of a schema, or the name of a built-in one',
    },
  },
  json: { shape: 'object', fields: { hash: "the node's hash", oid: 'the git object that it lies in' } },
  examples: [
    { command: "uwf cas put 'Phase 1: read the configuration' --thread 01KAM4", comment: 'a text' },
    { command: 'npm test 2>&1 | uwf cas put -', comment: 'what a program says' },
    { command: 'uwf cas put --file phase.json --type 3F2V04Y8ZNQWE', comment: 'a value of a type of your own' },
  ],
  async run({ args, options, cli, out }) {
    const text = await readText(cli, { text: args.text, file: options.file });
    if (text === undefined)
      throw new UsageError("'uwf cas put' needs a text", "give it, or '-' for stdin, or --file <file>");
    const repository = await openToWrite(cli);
    const { cas, nodes } = scopeOf(cli, repository, options.thread);
    const type = options.type === undefined ? builtIn.content : await findType(repository, options.type);
    const payload = options.type === undefined ? { text } : parseJson(text);
    const hash = cas ? await cas.putTyped(type, payload) : await putNode(repository, type, payload, { ref: PINS_REF });
    const { oid } = await getNode(nodes, hash);
    await out.result({ hash, oid }, () => hash);
    if (args.text !== undefined && args.text !== '-' && existsSync(resolve(cli.cwd, args.text))) {
      out.hint(`there is a file '${args.text}'; what was stored is its name. --file stores what is in it`);
    }
  },
});

function parseJson(text: string): JsonValue {
  try {
    // What JSON.parse gives is JSON.
    return JSON.parse(text) as JsonValue;
  } catch (error) {
    throw new UsageError(`with --type the value has to be JSON: ${String(error)}`);
  }
}
