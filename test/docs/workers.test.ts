import { testDocument } from './live-document.ts';

testDocument('docs/workers.md', () => {});
