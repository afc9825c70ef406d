import { isNodeHash } from '../../cas/hash.ts';
import { repositoryNodes } from '../../cas/lookup.ts';
import { getNode } from '../../cas/node.ts';
import { hashObject } from '../../git/format/object-id.ts';
import { isJsonObject, type JsonValue } from '../../json.ts';
import { builtIn, builtInSchema, encodeBuiltIn, typeNameOf, typeNames } from '../../schema/built-in.ts';
import { schemaOfType } from '../../schema/links.ts';
import { putSchema, SCHEMA_REFS } from '../../schema/put.ts';
import { schemaWords } from '../../schema/typed-schema.ts';
import { type Command, defineCommand, readJson } from '../command-line/command.ts';
import { textFrom } from '../command-line/read-text.ts';
import { UsageError } from '../errors/exit-code.ts';
import { findType } from '../find/find-node.ts';
import { fileSchemas, formatSchema } from '../init/prepare-files.ts';
import { redactionHere, sayTaken } from '../open/open-config.ts';
import { openForReading, openForWriting } from '../open/open-repository.ts';

type Row = { hash: string; name: string | null; description: string };

export const schemaListCommand: Command = defineCommand({
  json: {
    hash: 'the hash of the schema',
    name: 'of a type that uwf brings along; else null',
    description: 'what its nodes are',
  },
  examples: [{ command: 'uwf schema list', comment: "uwf's own types, then those that were registered here" }],
  async run({ cli, out }) {
    const repository = await openForReading(cli);
    const rows: Row[] = typeNames.map((name) => ({
      hash: builtIn[name],
      name,
      description: describe(builtInSchema(name)),
    }));
    for (const { name } of await repository.refs.list(SCHEMA_REFS)) {
      const hash = name.slice(SCHEMA_REFS.length);
      const node = isNodeHash(hash) ? await repositoryNodes(repository).find(hash) : undefined;
      if (node) rows.push({ hash, name: null, description: describe(node.payload) });
    }
    await out.table<Row>(rows, [
      { title: 'HASH', cell: ({ hash }) => hash, paint: out.paint.id },
      { title: 'NAME', cell: ({ name }) => name ?? '', paint: out.paint.name },
      { title: 'DESCRIPTION', cell: ({ description }) => description },
    ]);
  },
});

function describe(schema: JsonValue): string {
  const text = isJsonObject(schema) ? (schema['description'] ?? schema['title']) : undefined;
  return typeof text === 'string' ? text : '';
}

export const schemaShowCommand: Command = defineCommand({
  description: `Prints the schema of a type of nodes, or with --for the schema of the files that people write, for editors. 'uwf init'
puts these into .uwf/schemas/, where the first line of a file can name them:

    # yaml-language-server: $schema=../schemas/workflow.json`,
  arguments: [{ name: 'type', summary: 'the name of a built-in type, or the hash of a schema', isOptional: true }],
  options: {
    for: { value: '<file>', summary: 'of workflow files, or of config.yaml', candidates: Object.keys(fileSchemas) },
  },
  json: {
    hash: "the hash of the schema; null for a file's",
    name: 'of a type that uwf brings along, or of the file; else null',
    schema: 'the JSON Schema',
  },
  examples: [
    { command: 'uwf schema show thread-step', comment: "one of uwf's own" },
    { command: 'uwf schema show 3F2V04Y8ZNQWE', comment: 'one that was registered' },
    { command: 'uwf schema show --for workflow > .uwf/schemas/workflow.json', comment: 'for an editor' },
  ],
  async run({ args, options, cli, out }) {
    if ((args.type === undefined) === (options.for === undefined)) {
      const hint = "'uwf schema list' lists the types";
      throw new UsageError("'uwf schema show' needs a type or --for, and not both", hint);
    }
    if (options.for !== undefined) {
      const schema = await (options.for === 'workflow' ? fileSchemas.workflow() : fileSchemas.config());
      await out.result({ hash: null, name: options.for, schema }, () => formatSchema(schema));
      return;
    }
    const repository = await openForReading(cli);
    const hash = await findType(repository, args.type ?? '');
    const schema = await schemaOfType(repositoryNodes(repository), hash);
    await out.result({ hash, name: typeNameOf(hash) ?? null, schema }, () => JSON.stringify(schema, null, 2));
  },
});

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
