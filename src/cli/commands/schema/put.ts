import { getNode } from '../../../cas/node-source.ts';
import { encodeBuiltIn, typeNameOf } from '../../../schema/built-in.ts';
import { hashObject } from '../../../git/object-id.ts';
import { repositoryNodes } from '../../../cas/lookup/repository-nodes.ts';
import type { JsonValue } from '../../../json.ts';
import { putSchema } from '../../../schema/put-schema.ts';
import { schemaWords } from '../../../schema/schema-words.ts';
import { defineCommand, type Command } from '../../command.ts';
import { readText } from '../../input/read-text.ts';
import { openToWrite } from '../../open-repository.ts';
import { redactionHere, sayTaken } from '../../redaction-here.ts';
import { UsageError } from '../../usage-error.ts';

export const command: Command = defineCommand({
  summary: 'register a schema',
  description: `Registers a JSON Schema (draft 2020-12) as a type for nodes and prints its hash, which 'uwf cas put --type' takes. Strings
under "format": "cas_ref" are links to other nodes. Registering it again changes nothing.`,
  arguments: [{ name: 'file', summary: "a file with the schema in JSON; '-' is stdin", candidates: 'file' }],
  options: {},
  json: { shape: 'object', fields: { hash: 'the hash of the schema', oid: 'the git object that it lies in' } },
  examples: [{ command: 'uwf schema put phase.schema.json', comment: 'print its hash' }],
  async run({ args, cli, out }) {
    const text = await readText(cli, { text: undefined, file: args.file });
    const repository = await openToWrite(cli);
    const schema = parse(text ?? '', args.file);
    const redaction = await redactionHere(cli, repository);
    const hash = await putSchema(repository, redaction.json(schema, schemaWords(schema)));
    sayTaken(cli, redaction);
    const name = typeNameOf(hash);
    const oid = name
      ? hashObject({ type: 'blob', data: encodeBuiltIn(name).blob }, repository.objects.format)
      : (await getNode(repositoryNodes(repository), hash)).oid;
    await out.result({ hash, oid }, () => hash);
  },
});

function parse(text: string, source: string): JsonValue {
  try {
    // What JSON.parse gives is JSON.
    return JSON.parse(text) as JsonValue;
  } catch (error) {
    throw new UsageError(`${source} is not JSON: ${String(error)}`);
  }
}
