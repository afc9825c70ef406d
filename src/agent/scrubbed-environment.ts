/** Variables that a program needs to work at all, and that hold no secret. */
const HARMLESS =
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_[A-Z]+|TERM|COLORTERM|NO_COLOR|TZ|TMPDIR|TEMP|TMP|CI|PWD|EDITOR|XDG_[A-Z_]+|UWF_[A-Z_]+|SystemRoot|PATHEXT|COMSPEC)$/u;

/**
 * The part of an environment that an agent's own programs see: what they need to work, and what a person passes on by
 * name. A key that lies in the environment of uwf is not in it.
 */
export function scrubbedEnvironment(
  env: Readonly<Record<string, string>>,
  passed: readonly string[] = [],
): Record<string, string> {
  const names = Object.keys(env).filter((name) => HARMLESS.test(name) || passed.includes(name));
  return Object.fromEntries(names.map((name) => [name, env[name] ?? '']));
}
