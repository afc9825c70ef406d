import { orElse } from '../../or-else.ts';
import type { GitVariable } from '../../git/process/git-variables.ts';
import { isJsonObject, type JsonValue } from '../../json.ts';
import type { Config } from '../config/config.ts';

/** A value that is known to be secret, and the variable, header or address that holds it. */
export type KnownSecret = { name: string; value: string };

/** Where secrets are known from. */
export type SecretSources = {
  env: Readonly<Record<string, string | undefined>>;
  /** The agents of this machine: the variables that they are given, their keys, their own environment. */
  config?: Pick<Config, 'agents'>;
  /** git's configuration. */
  git?: readonly GitVariable[];
};

/**
 * A name that says that its value is secret: `GITHUB_TOKEN`, `authToken`, `DB_PASS`, `x-api-key`, but not `KEYBOARD` or
 * `AUTHOR`, whose values would be taken out of texts. What a program is not given is asked less strictly (`looksSecret`).
 */
const secretName =
  /(?:TOKEN|SECRET|PASSW(?:OR)?D|PASSPHRASE|CREDENTIAL|COOKIE|AUTH|AUTHORIZATION|API[_-]?KEY|(?:^|[_-])(?:KEY|PAT|PASS|PWD|PSK|DSN))S?(?:$|[_\d-])/iu;

/** Lists what is known to be secret here, each value once. Which of them can be taken out of texts, `isRedactable` tells. */
export function knownSecrets({ env, config, git = [] }: SecretSources): KnownSecret[] {
  const found = [
    ...Object.entries(env).flatMap(([name, value = '']) => secretsOf(name, value)),
    ...Object.values(config?.agents ?? {}).flatMap(({ config: ofAgent }) => secretsIn('', ofAgent, env)),
    ...git.flatMap(({ name, value = '' }) => secretsOfGit(name, value)),
  ];
  return [...new Map(found.map((secret) => [secret.value, secret])).values()];
}

/** What the configuration of an agent, or a part of it, says is secret, or names the variables of. */
function secretsIn(key: string, value: JsonValue, env: SecretSources['env']): KnownSecret[] {
  if (typeof value === 'string') return key === 'apiKeyEnv' ? valueOf(value, env) : secretsOf(key, value);
  if (Array.isArray(value)) {
    return value.flatMap((item) =>
      key === 'passEnv' && typeof item === 'string' ? valueOf(item, env) : secretsIn('', item, env),
    );
  }
  return isJsonObject(value) ? Object.entries(value).flatMap(([name, item]) => secretsIn(name, item, env)) : [];
}

function valueOf(name: string, env: SecretSources['env']): KnownSecret[] {
  return named(name, env[name] ?? '');
}

/** Headers that git sends, addresses with credentials as names and as values, and what `sendemail.smtpPass` is like. */
function secretsOfGit(name: string, value: string): KnownSecret[] {
  const key = name.slice(name.lastIndexOf('.') + 1);
  const start = name.indexOf('.') + 1;
  const subsection = name.slice(start, Math.max(start, name.length - key.length - 1));
  // A secret may stand in the name itself.
  const shown = subsection.includes('@') ? `${name.slice(0, start)}….${key}` : name;
  const ofSubsection = credentialsIn(shown, subsection);
  if (key !== 'extraheader') return [...ofSubsection, ...secretsOf(key.replace(/pass$/u, '_pass'), value, shown)];
  const [, header = '', sent = ''] = /^\s*([^:]*):(.*)$/su.exec(value) ?? [];
  return [...ofSubsection, ...(secretName.test(header) ? ofHeader(shown, sent) : named(shown, sent))];
}

/**
 * A value that its name says is secret, and what is secret of an address under any name. `PWD` is a shell's folder, though
 * `DB_PWD` and `pwd` are passwords.
 * @param shown what the person is told the name is
 */
function secretsOf(name: string, value: string, shown: string = name): KnownSecret[] {
  const inAddress = credentialsIn(shown, value);
  if (/^[a-z][\w+.-]*:\/\//iu.test(value) || !secretName.test(name) || name === 'PWD') return inAddress;
  return ofHeader(shown, value);
}

/** The value without the scheme of an authorization; of `Basic` the password too. */
function ofHeader(name: string, value: string): KnownSecret[] {
  const [, scheme = '', credentials = value] = /^\s*(basic|bearer|token)\s+(\S+)\s*$/iu.exec(value) ?? [];
  const decoded = scheme.toLowerCase() === 'basic' ? Buffer.from(credentials, 'base64').toString() : '';
  const password = decoded.slice(decoded.indexOf(':') + 1);
  return [...named(name, credentials), ...named(name, password)];
}

/** The password of an address, or the name that stands for one, and what its query says under a secret name. */
function credentialsIn(name: string, text: string): KnownSecret[] {
  if (!/^[a-z][\w+.-]*:\/\//iu.test(text)) return [];
  const userInfo = /^[^:]*:\/\/([^/?#]*)@/u.exec(text)?.[1] ?? '';
  const colon = userInfo.indexOf(':');
  const secret = colon === -1 ? userInfo : userInfo.slice(colon + 1);
  const query = [...text.matchAll(/[?&]([^=&#]+)=([^&#]+)/gu)].filter(([, key = '']) => secretName.test(key));
  return [secret, ...query.map(([, , value = '']) => value)].flatMap((one) => {
    // Where a percent sign begins no escape, it is the value itself.
    const decoded = orElse(() => decodeURIComponent(one), '');
    return [...named(name, one), ...named(name, decoded)];
  });
}

function named(name: string, value: string): KnownSecret[] {
  const trimmed = value.trim();
  return trimmed === '' ? [] : [{ name, value: trimmed }];
}
