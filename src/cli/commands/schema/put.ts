import { repositoryNodes } from '../../../cas/lookup.ts';
import { getNode } from '../../../cas/node.ts';
import { hashObject } from '../../../git/format/object-id.ts';
import { encodeBuiltIn, typeNameOf } from '../../../schema/built-in.ts';
import { schemaWords } from '../../../schema/typed-schema.ts';
import { putSchema } from '../../../schema/put.ts';
import { defineCommand, type Command } from '../../command-line/command.ts';
import { readJson } from '../../command-line/parse-value.ts';
import { textFrom } from '../../command-line/read-text.ts';
import { redactionHere, sayTaken } from '../../open/open-redactor.ts';
import { openForWriting } from '../../open/open-repository.ts';

export const schemaPutCommand: Command = defineCommand({
  description: `Registers a JSON Schema (draft 2020-12) as a type for nodes and prints its hash, which 'uwf cas put --type' takes. Strings
under "format": "cas_ref" are links to other nodes. Registering it again changes nothing.`,
  arguments: [{ name: 'file', summary: "a file with the schema in JSON; '-' is stdin", candidates: 'file' }],
  json: { hash: 'the hash of the schema', oid: 'the git object that it lies in' },
  examples: [{ command: 'uwf schema put phase.schema.json', comment: 'print its hash' }],
  async run({ args, cli, out }) {
    const text = await textFrom(cli, { text: undefined, file: args.file });
    const repository = await openForWriting(cli);
    const schema = readJson(text ?? '', `${args.file} is not JSON`);
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
