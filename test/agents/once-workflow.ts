import type { JsonObject } from '../../src/json.ts';

/** A workflow in which one role takes one turn. */
export const onceWorkflow: { roles: JsonObject } & JsonObject = {
  name: 'once',
  description: 'one turn',
  roles: {
    worker: {
      description: 'works',
      systemPrompt: 'You work.',
      schema: { type: 'object', properties: { words: { type: 'integer' } }, required: ['words'] },
    },
  },
  moderator: [
    { from: '__start__', to: 'worker', when: null },
    { from: 'worker', to: '__end__', when: null },
  ],
};
