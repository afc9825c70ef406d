import { repositoryNodes } from '../../../cas/lookup.ts';
import { isNodeHash } from '../../../cas/hash.ts';
import { isJsonObject, type JsonValue } from '../../../json.ts';
import { builtIn, builtInSchema, typeNames } from '../../../schema/built-in.ts';
import { SCHEMA_REFS } from '../../../schema/put.ts';
import { defineCommand, type Command } from '../../command-line/command.ts';
import { openForReading } from '../../open/open-repository.ts';

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
