/** The role in the threads of benchmarks. */
export const agent = { name: 'robot', package: 'builtin:scripted', version: '1.0.0', config: {} };

/**
 * The workflow of these threads: one role, repeated.
 *
 * @type {{ name: string, description: string, roles: object, moderator: { from: string, to: string, when: string | null }[] }}
 */
export const workflow = {
  name: 'long',
  description: 'writes on and on',
  roles: {
    writer: {
      description: 'writes',
      systemPrompt: 'Write.',
      extractPrompt: 'Say that you are done.',
      schema: { type: 'object', properties: { $status: { const: 'done' } }, required: ['$status'] },
    },
  },
  moderator: [
    { from: '__start__', to: 'writer', when: null },
    { from: 'writer', to: 'writer', when: null },
  ],
};
