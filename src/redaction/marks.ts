/** What `markOf` makes, and the rule in it. Whatever is in one is no secret any more. */
export const marks: RegExp = /‹redacted:([a-z0-9-]{1,40}):[0-9a-f]{8}›/g;
