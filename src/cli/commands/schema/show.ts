import { repositoryNodes } from '../../../cas/lookup.ts';
import { schemaOfType } from '../../../schema/links.ts';
import { typeNameOf } from '../../../schema/built-in.ts';
import { defineCommand, type Command } from '../../command-line/command.ts';
import { findType } from '../../find/find-node.ts';
import { fileSchemas, formatSchema } from '../../init/file-schemas.ts';
import { openForReading } from '../../open/open-repository.ts';
import { UsageError } from '../../errors/usage-error.ts';

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
