import type { JsonObject } from '../../json.ts';

/** The files that people write, each with the schema by which an editor checks it. */
export const fileSchemas: Readonly<Record<'workflow' | 'config', () => Promise<JsonObject>>> = {
  workflow: async () => (await import('../../workflow/notation/editor-schema.ts')).workflowFileSchema(),
  config: async () => (await import('../../engine/config/config-schema.ts')).configFileSchema(),
};

/** Where `uwf init` puts such a schema, from the top of a work tree. */
export const schemaPath = (kind: string): string => `.uwf/schemas/${kind}.json`;

/** A schema as a file. */
export const formatSchema = (schema: JsonObject): string => `${JSON.stringify(schema, null, 2)}\n`;
