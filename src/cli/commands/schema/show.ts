import { repositoryNodes } from '../../../cas/lookup/repository-nodes.ts';
import { schemaOfType } from '../../../schema/type-schema.ts';
import { typeNameOf } from '../../../schema/built-in.ts';
import { defineCommand, type Command } from '../../command.ts';
import { findType } from '../../find-type.ts';
import { openToRead } from '../../open-repository.ts';

export const command: Command = defineCommand({
  summary: 'print a schema',
  arguments: [{ name: 'type', summary: 'the name of a built-in type, or the hash of a schema' }],
  options: {},
  json: {
    shape: 'object',
    fields: {
      hash: 'the hash of the schema',
      name: 'of a type that uwf brings along; else null',
      schema: 'the JSON Schema',
    },
  },
  examples: [
    { command: 'uwf schema show thread-step', comment: "one of uwf's own" },
    { command: 'uwf schema show 3F2V04Y8ZNQWE', comment: 'one that was registered' },
  ],
  async run({ args, cli, out }) {
    const repository = await openToRead(cli);
    const hash = await findType(repository, args.type);
    const schema = await schemaOfType(repositoryNodes(repository), hash);
    await out.result({ hash, name: typeNameOf(hash) ?? null, schema }, () => JSON.stringify(schema, null, 2));
  },
});
