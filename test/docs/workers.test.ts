import { testDocument } from './live-document.ts';

// As its reader has it: nothing is agreed to, and git knows no author.
testDocument('docs/workers.md', () => {}, {
  UWF_TRUST: undefined,
  GIT_AUTHOR_NAME: undefined,
  GIT_AUTHOR_EMAIL: undefined,
  GIT_COMMITTER_NAME: undefined,
  GIT_COMMITTER_EMAIL: undefined,
});
