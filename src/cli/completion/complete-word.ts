/** The word by which the scripts ask for what fits; the words typed so far follow, the last one possibly empty. */
export const COMPLETE = '__complete';
