/** Variables that a program needs to work at all, and that hold no secret. */
const HARMLESS =
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_[A-Z]+|TERM|COLORTERM|NO_COLOR|TZ|TMPDIR|TEMP|TMP|CI|PWD|EDITOR|XDG_[A-Z_]+|UWF_[A-Z_]+|SystemRoot|PATHEXT|COMSPEC)$/u;
/**
 * Names of variables that look as if a secret were in them. The pattern is wide, because a program only lacks a variable where
 * it is wrong. The one in `known-secrets.ts` is narrow, because the values that it finds are taken out of all texts.
 */
const SECRET = /KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|COOKIE/iu;

/**
 * The part of an environment that an agent's own programs see: what they need to work, and what a person passes on by
 * name. A key that lies in the environment of uwf is not in it, whatever its name (`UWF_MODEL_KEY`).
 * @param passed names of variables to pass on
 * @param kept the name of a variable that holds a key, however harmless it sounds
 */
export function scrubbedEnvironment(
  env: Readonly<Record<string, string>>,
  passed: readonly string[] = [],
  kept?: string,
): Record<string, string> {
  const isPassed = (name: string): boolean =>
    passed.includes(name) || (HARMLESS.test(name) && !looksSecret(name) && name !== kept);
  return Object.fromEntries(Object.entries(env).filter(([name]) => isPassed(name)));
}

/** Tells whether a variable's name says that its value is secret. */
export function looksSecret(name: string): boolean {
  return SECRET.test(name);
}
