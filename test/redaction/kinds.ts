/** Characters by a seed, so that a test that fails fails again. */
export class Letters {
  #state: number;

  constructor(seed: number) {
    this.#state = (seed * 2_654_435_761 + 1) >>> 0;
  }

  /** Xorshift, 32 bits. */
  below(limit: number): number {
    this.#state ^= this.#state << 13;
    this.#state >>>= 0;
    this.#state ^= this.#state >>> 17;
    this.#state ^= this.#state << 5;
    this.#state >>>= 0;
    return this.#state % limit;
  }

  of(alphabet: string, length: number): string {
    return Array.from({ length }, () => alphabet[this.below(alphabet.length)]).join('');
  }

  hex = (length: number): string => this.of('0123456789abcdef', length);
  digits = (length: number): string => this.of('123456789', length);
  lower = (length: number): string => this.of('abcdefghijklmnopqrstuvwxyz0123456789', length);
  upper = (length: number): string => this.of('ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789', length);
  base32 = (length: number): string => this.of('ABCDEFGHIJKLMNOPQRSTUVWXYZ234567', length);
  alnum = (length: number): string => this.of(alnum, length);
  url64 = (length: number): string => this.of(`${alnum}-_`, length - 1) + this.of(alnum, 1);
  base64 = (length: number): string => this.of(`${alnum}+/`, length);
  uuid = (): string => [8, 4, 4, 4, 12].map((length) => this.hex(length)).join('-');
  json = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
}

const alnum = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** A kind of secret by its published format. `name`: it counts beside that name only. */
export type Kind = { kind: string; make: (letters: Letters) => string; name?: string };

const kind = (kind: string, make: (letters: Letters) => string, name?: string): Kind => ({
  kind,
  make,
  ...(name !== undefined && { name }),
});

/** Made when a test runs: no token is written anywhere. */
export const kinds: readonly Kind[] = [
  ...['ghp', 'gho', 'ghu', 'ghs', 'ghr'].map((prefix) => kind(`github ${prefix}`, (a) => `${prefix}_${a.alnum(36)}`)),
  kind('github fine-grained', (a) => `github_pat_${a.alnum(22)}_${a.alnum(59)}`),
  ...['glpat', 'gldt', 'glrt', 'glft', 'glsoat'].map((prefix) =>
    kind(`gitlab ${prefix}`, (a) => `${prefix}-${a.url64(20)}`),
  ),
  kind('gitlab job', (a) => `glcbt-64_${a.url64(20)}`),
  kind('gitlab trigger', (a) => `glptt-${a.hex(40)}`),
  kind('gitlab routable', (a) => `glpat-${a.url64(27)}.01.${a.lower(9)}`),
  kind('bitbucket app password', (a) => `ATBB${a.alnum(32)}`),
  kind('atlassian', (a) => `ATATT3${a.url64(186)}`),
  kind('npm', (a) => `npm_${a.alnum(36)}`),
  kind('pypi', (a) => `pypi-AgEIcHlwaS5vcmc${a.url64(120)}`),
  kind('rubygems', (a) => `rubygems_${a.hex(48)}`),
  kind('crates.io', (a) => `cio${a.alnum(32)}`),
  kind('nuget', (a) => `oy2${a.lower(43)}`),
  kind('docker', (a) => `dckr_pat_${a.url64(27)}`),
  kind('clojars', (a) => `CLOJARS_${a.lower(60)}`),
  kind('terraform', (a) => `${a.alnum(14)}.atlasv1.${a.url64(64)}`),
  kind('pulumi', (a) => `pul-${a.hex(40)}`),
  kind('buildkite', (a) => `bkua_${a.hex(40)}`),
  kind('circleci', (a) => `CCIPAT_${a.alnum(22)}_${a.hex(40)}`),
  kind('sonarqube', (a) => `sqp_${a.hex(40)}`),
  kind('sourcegraph', (a) => `sgp_${a.hex(16)}_${a.hex(40)}`),
  kind('postman', (a) => `PMAK-${a.hex(24)}-${a.hex(34)}`),
  kind('prefect', (a) => `pnu_${a.alnum(36)}`),
  kind('readme', (a) => `rdme_${a.lower(70)}`),
  kind('snyk', (a) => a.uuid(), 'SNYK_TOKEN'),
  kind('launchdarkly', (a) => `sdk-${a.uuid()}`),
  kind('aws access key', (a) => `AKIA${a.base32(16)}`),
  kind('aws session key', (a) => `ASIA${a.base32(16)}`),
  kind('aws secret', (a) => a.base64(40), 'AWS_SECRET_ACCESS_KEY'),
  kind('aws session token', (a) => `${a.base64(342)}==`, 'AWS_SESSION_TOKEN'),
  kind('google api key', (a) => `AIza${a.url64(35)}`),
  kind('google oauth', (a) => `ya29.${a.url64(120)}`),
  kind('google client secret', (a) => `GOCSPX-${a.url64(28)}`),
  kind('azure client secret', (a) => `${a.alnum(3)}8Q~${a.alnum(34)}`),
  kind('azure storage key', (a) => `${a.base64(86)}==`, 'AccountKey'),
  kind('digitalocean', (a) => `dop_v1_${a.hex(64)}`),
  kind('doppler', (a) => `dp.pt.${a.alnum(43)}`),
  kind('fly', (a) => `fo1_${a.url64(43)}`),
  kind('heroku', (a) => `HRKU-AA${a.url64(58)}`),
  kind('netlify', (a) => `nfp_${a.alnum(36)}`),
  kind('vercel', (a) => `vcp_${a.alnum(56)}`),
  kind('supabase', (a) => `sbp_${a.hex(40)}`),
  kind('planetscale token', (a) => `pscale_tkn_${a.url64(43)}`),
  kind('planetscale password', (a) => `pscale_pw_${a.url64(43)}`),
  kind('cloudflare', (a) => `cfut_${a.alnum(40)}${a.hex(8)}`),
  kind('cloudflare origin', (a) => `v1.0-${a.hex(24)}-${a.hex(146)}`),
  kind('fastly', (a) => a.url64(32), 'FASTLY_API_TOKEN'),
  kind('alibaba', (a) => `LTAI${a.alnum(20)}`),
  kind('tencent', (a) => `AKID${a.alnum(32)}`),
  kind('yandex', (a) => `AQVN${a.url64(36)}`),
  kind('ibm', (a) => a.url64(44), 'IBM_CLOUD_API_KEY'),
  kind('databricks', (a) => `dapi${a.hex(32)}`),
  kind('vault service', (a) => `hvs.${a.url64(95)}`),
  kind('vault batch', (a) => `hvb.${a.url64(140)}`),
  kind('1password', (a) => `ops_${a.json({ email: a.alnum(30), key: a.alnum(200) })}`),
  kind('age', (a) => `AGE-SECRET-KEY-1${a.of('QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L', 58)}`),
  kind('tailscale', (a) => `tskey-auth-${a.alnum(17)}-${a.alnum(32)}`),
  kind('anthropic', (a) => `sk-ant-api03-${a.url64(93)}AA`),
  kind('anthropic admin', (a) => `sk-ant-admin01-${a.url64(93)}AA`),
  kind('openai', (a) => `sk-${a.alnum(20)}T3BlbkFJ${a.alnum(20)}`),
  kind('openai project', (a) => `sk-proj-${a.url64(74)}T3BlbkFJ${a.url64(74)}`),
  kind('openai service account', (a) => `sk-svcacct-${a.url64(58)}T3BlbkFJ${a.url64(58)}`),
  kind('openrouter', (a) => `sk-or-v1-${a.hex(64)}`),
  kind('deepseek', (a) => `sk-${a.hex(32)}`),
  kind('groq', (a) => `gsk_${a.alnum(52)}`),
  kind('hugging face', (a) => `hf_${a.of('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ', 34)}`),
  kind('replicate', (a) => `r8_${a.alnum(37)}`),
  kind('xai', (a) => `xai-${a.alnum(80)}`),
  kind('perplexity', (a) => `pplx-${a.alnum(48)}`),
  kind('mistral', (a) => a.alnum(32), 'MISTRAL_API_KEY'),
  kind('cohere', (a) => a.alnum(40), 'COHERE_API_KEY'),
  kind('slack bot', (a) => `xoxb-${a.digits(12)}-${a.digits(13)}-${a.alnum(24)}`),
  kind('slack user', (a) => `xoxp-${a.digits(12)}-${a.digits(12)}-${a.digits(12)}-${a.hex(32)}`),
  kind('slack app', (a) => `xapp-1-${a.upper(11)}-${a.digits(13)}-${a.hex(64)}`),
  kind('slack webhook', (a) => `https://hooks.slack.com/services/T${a.upper(10)}/B${a.upper(10)}/${a.alnum(24)}`),
  kind('discord bot', (a) => `${btoa(a.digits(18))}.${a.url64(6)}.${a.url64(27)}`),
  kind('discord webhook', (a) => `https://discord.com/api/webhooks/${a.digits(18)}/${a.url64(68)}`),
  kind('telegram', (a) => `${a.digits(10)}:AA${a.url64(33)}`),
  kind('stripe', (a) => `sk_live_${a.alnum(24)}`),
  kind('stripe restricted', (a) => `rk_live_${a.alnum(99)}`),
  kind('stripe webhook', (a) => `whsec_${a.alnum(32)}`),
  kind('twilio key', (a) => `SK${a.hex(32)}`),
  kind('twilio token', (a) => a.hex(32), 'TWILIO_AUTH_TOKEN'),
  kind('sendgrid', (a) => `SG.${a.url64(22)}.${a.url64(43)}`),
  kind('mailgun', (a) => `key-${a.hex(32)}`),
  kind('mailchimp', (a) => `${a.hex(32)}-us${a.below(20) + 1}`),
  kind('postmark', (a) => a.uuid(), 'POSTMARK_SERVER_TOKEN'),
  kind('square', (a) => `EAAA${a.url64(60)}`),
  kind('shopify', (a) => `shpat_${a.hex(32)}`),
  kind('easypost', (a) => `EZAK${a.alnum(54)}`),
  kind('shippo', (a) => `shippo_live_${a.hex(40)}`),
  kind('linear', (a) => `lin_api_${a.alnum(40)}`),
  kind('notion', (a) => `ntn_${a.digits(11)}${a.alnum(35)}`),
  kind('airtable', (a) => `pat${a.alnum(14)}.${a.hex(64)}`),
  kind('figma', (a) => `figd_${a.url64(40)}`),
  kind('typeform', (a) => `tfp_${a.url64(59)}`),
  kind('contentful', (a) => `CFPAT-${a.url64(43)}`),
  kind('mapbox', (a) => `sk.eyJ${a.alnum(60)}.${a.url64(22)}`),
  kind('sentry organisation', (a) => `sntrys_eyJpYXQiO${a.alnum(120)}_${a.base64(43)}`),
  kind('sentry user', (a) => `sntryu_${a.hex(64)}`),
  kind('grafana cloud', (a) => `glc_eyJ${a.alnum(100)}`),
  kind('grafana service account', (a) => `glsa_${a.alnum(32)}_${a.hex(8)}`),
  kind('new relic', (a) => `NRAK-${a.upper(27)}`),
  kind('datadog', (a) => a.hex(32), 'DD_API_KEY'),
  kind('dynatrace', (a) => `dt0c01.${a.base32(24)}.${a.base32(64)}`),
  kind('posthog', (a) => `phx_${a.alnum(43)}`),
  kind('facebook', (a) => `EAAM${a.alnum(150)}`),
  kind('dropbox', (a) => `sl.${a.url64(135)}`),
  kind('okta', (a) => `00${a.url64(40)}`, 'OKTA_API_TOKEN'),
  kind('adafruit', (a) => `aio_${a.alnum(28)}`),
  kind('brevo', (a) => `xkeysib-${a.hex(64)}-${a.alnum(16)}`),
  kind('duffel', (a) => `duffel_live_${a.url64(43)}`),
  kind('jwt', (a) => `${a.json({ alg: 'HS256', typ: 'JWT' })}.${a.json({ sub: a.alnum(12) })}.${a.url64(43)}`),
  kind('braintree', (a) => `access_token$production$${a.lower(16)}$${a.hex(32)}`),
  kind('asana', (a) => `1/${a.digits(16)}:${a.hex(32)}`, 'ASANA_ACCESS_TOKEN'),
  kind('google refresh token', (a) => `1//0${a.url64(60)}`),
  kind('gitlab oauth secret', (a) => `gloas-${a.hex(64)}`),
  kind('docker organisation', (a) => `dckr_oat_${a.url64(32)}`),
  kind('docker swarm', (a) => `SWMTKN-1-${a.lower(50)}-${a.lower(25)}`),
  kind('packagist', (a) => `packagist_uut_${a.hex(68)}`),
  kind('jfrog', (a) => `AKCp${a.alnum(69)}`),
  kind('rootly', (a) => `rootly_${a.hex(64)}`),
  kind('ionic', (a) => `ion_${a.lower(42)}`),
  kind('infracost', (a) => `ico-${a.alnum(32)}`),
  kind('gitea', (a) => a.hex(40), 'GITEA_TOKEN'),
  kind('jenkins', (a) => `11${a.hex(32)}`, 'JENKINS_API_TOKEN'),
  kind('circleci, older', (a) => a.hex(40), 'CIRCLE_TOKEN'),
  kind('codecov', (a) => a.uuid(), 'CODECOV_TOKEN'),
  kind('aws appsync', (a) => `da2-${a.lower(26)}`),
  kind('aws bedrock', (a) => `ABSK${a.base64(116)}`),
  kind('azure devops', (a) => `${a.alnum(76)}AZDO${a.alnum(4)}`),
  kind('azure devops, older', (a) => a.of('abcdefghijklmnopqrstuvwxyz234567', 52), 'AZURE_DEVOPS_PAT'),
  kind('digitalocean oauth', (a) => `doo_v1_${a.hex(64)}`),
  kind('cloudflare, older', (a) => a.hex(37), 'CLOUDFLARE_API_KEY'),
  kind('railway', (a) => a.uuid(), 'RAILWAY_TOKEN'),
  kind('consul', (a) => a.uuid(), 'CONSUL_HTTP_TOKEN'),
  kind('render', (a) => `rnd_${a.alnum(28)}`),
  kind('neon', (a) => `napi_${a.lower(64)}`),
  kind('scalingo', (a) => `tk-us-${a.url64(48)}`),
  kind('elastic', (a) => `essu_${a.base64(80)}`),
  kind('supabase secret', (a) => `sb_secret_${a.alnum(22)}_${a.alnum(8)}`),
  kind('1password secret key', (a) => `A3-${[6, 6, 5, 5, 5, 5].map((length) => a.upper(length)).join('-')}`),
  kind('together', (a) => `tgp_v1_${a.url64(43)}`),
  kind('runpod', (a) => `rpa_${a.upper(44)}`),
  kind('firecrawl', (a) => `fc-${a.hex(32)}`),
  kind('e2b', (a) => `e2b_${a.hex(40)}`),
  kind('llamacloud', (a) => `llx-${a.alnum(48)}`),
  kind('helicone', (a) => `sk-helicone-${[7, 7, 7, 7].map((length) => a.lower(length)).join('-')}`),
  kind('cursor', (a) => `key_${a.hex(64)}`),
  kind('nvidia', (a) => `nvapi-${a.url64(64)}`),
  kind('pinecone', (a) => `pcsk_${a.alnum(6)}_${a.alnum(63)}`),
  kind('langsmith', (a) => `lsv2_pt_${a.hex(32)}_${a.hex(10)}`),
  kind('instagram', (a) => `IGQV${a.alnum(140)}`),
  kind('facebook app', (a) => `${a.digits(15)}|${a.url64(27)}`, 'FB_APP_TOKEN'),
  kind('linkedin', (a) => `WPL_AP1.${a.alnum(16)}.${a.base64(6)}==`),
  kind('adyen', (a) => `AQE${a.alnum(70)}-${a.base64(54)}=-${a.alnum(18)}`),
  kind('intercom', (a) => btoa(`tok:${a.hex(8)}_${a.hex(4)}_${a.hex(12)}:1:0`)),
  kind('asana by its form', (a) => `2/${a.digits(16)}/${a.digits(16)}:${a.hex(32)}`),
  kind('new relic license', (a) => `${a.hex(36)}NRAL`),
  kind('datadog application', (a) => a.hex(40), 'DD_APP_KEY'),
  kind('firebase', (a) => `AAAA${a.url64(7)}:APA91b${a.url64(134)}`),
  kind('mailjet', (a) => a.hex(32), 'MAILJET_API_KEY'),
  kind('plaid', (a) => `access-production-${a.uuid()}`),
  kind('hubspot', (a) => `pat-na1-${a.uuid()}`),
  kind('vault, older', (a) => `s.${a.alnum(24)}`, 'VAULT_TOKEN'),
  kind('password with signs', (a) => `${a.alnum(9)}@&${a.alnum(9)}`, 'DB_PASSWORD'),
  kind('random value', (a) => a.alnum(32), 'SERVICE_TOKEN'),
];

/** What a secret stands in. The name is the kind's own where it needs one. */
export const contexts: Record<string, (secret: string, name: string) => string> = {
  'a line of an environment': (secret, name) => `PATH=/usr/bin\n${name}=${secret}\nHOME=/root\n`,
  JSON: (secret, name) => JSON.stringify({ user: 'me', [name]: secret, id: 7 }, undefined, 2),
  'JSON in JSON': (secret, name) => JSON.stringify({ body: `one\n${JSON.stringify({ [name]: secret })}` }),
  'a URL': (secret, name) => `curl "https://api.acme.dev/v1/items?${name}=${encodeURIComponent(secret)}&limit=10"`,
  prose: (secret, name) => `I found the ${name}: ${secret} in the file, and used it.`,
  code: (secret, name) => `const client = connect({ ${name}: '${secret}' });\n`,
  Python: (secret, name) => `os.environ["${name}"] = "${secret}"\n`,
  YAML: (secret, name) => `env:\n  ${name}: ${secret}\n  next: 1\n`,
  'JSON in JSON in JSON': (secret, name) =>
    JSON.stringify({ body: JSON.stringify({ body: JSON.stringify({ [name]: secret }) }) }),
  colours: (secret, name) =>
    `\u001B[32mINFO\u001B[0m with \u001B[1m${name}\u001B[0m=\u001B[33m${secret}\u001B[0m now\n`,
  Markdown: (secret, name) => `I set \`${name}\` to \`${secret}\`.\n`,
  'a table': (secret, name) => `| ${name} | ${secret} |\n`,
  'a header': (secret, name) => `> GET / HTTP/1.1\n> X-${name.replaceAll('_', '-')}: ${secret}\n`,
  'a difference': (secret, name) => `@@ -1 +1,2 @@\n+${name}=${secret}\n`,
};
