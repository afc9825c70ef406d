/** What a secret stands in. */
export type Context = (secret: string, name: string) => string;

const camel = (name: string): string =>
  name.toLowerCase().replaceAll(/_(.)/gu, (_, letter: string) => letter.toUpperCase());
const kebab = (name: string): string => name.toLowerCase().replaceAll('_', '-');
/** Puts something into the middle. */
const cut = (secret: string, by: string, at = Math.floor(secret.length / 2)): string =>
  secret.slice(0, at) + by + secret.slice(at);
/** The character in the middle as JSON can write it. */
const escaped = (secret: string, at = Math.floor(secret.length / 2)): string =>
  `${secret.slice(0, at)}\\u${secret.charCodeAt(at).toString(16).padStart(4, '0')}${secret.slice(at + 1)}`;

const first: Record<string, Context> = {
  environment: (secret, name) => `PATH=/usr/bin\n${name}=${secret}\nHOME=/root\n`,
  shell: (secret, name) => `set -eu\nexport ${name}="${secret}"\ndeploy\n`,
  JSON: (secret, name) => JSON.stringify({ user: 'me', [camel(name)]: secret, id: 7 }, undefined, 2),
  'JSON in JSON': (secret, name) => `${JSON.stringify({ level: 'info', msg: JSON.stringify({ [name]: secret }) })}\n`,
  YAML: (secret, name) => `env:\n  ${name}: ${secret}\n  PORT: 80\n`,
  'YAML list': (secret, name) => `env:\n  - name: ${name}\n    value: ${secret}\n  - name: PORT\n    value: "80"\n`,
  query: (secret, name) =>
    `GET https://api.acme.dev/v1?${name.toLowerCase()}=${encodeURIComponent(secret)}&page=2 200\n`,
  curl: (secret, name) => `curl -s -H "X-${kebab(name)}: ${secret}" https://api.acme.dev/v1/me\n`,
  JavaScript: (secret, name) => `const client = new Client({ ${camel(name)}: '${secret}', retries: 3 });\n`,
  Python: (secret, name) => `os.environ["${name}"] = "${secret}"\nmain()\n`,
  TOML: (secret, name) => `[service]\n${name.toLowerCase()} = "${secret}"\nport = 80\n`,
  properties: (secret, name) => `app.port=80\napp.${kebab(name)}=${secret}\napp.name=x\n`,
  XML: (secret, name) => `<config>\n  <${camel(name)}>${secret}</${camel(name)}>\n</config>\n`,
  Markdown: (secret, name) => `Set \`${name}\` to \`${secret}\` and run it.\n`,
  table: (secret, name) => `| variable | value |\n|---|---|\n| ${name} | ${secret} |\n`,
  difference: (secret, name) => `@@ -1,2 +1,2 @@\n-${name}=\n+${name}=${secret}\n PORT=80\n`,
  colours: (secret, name) => `\u001B[36m${name}\u001B[39m=\u001B[32m${secret}\u001B[39m\n`,
  docker: (secret, name) => `docker run --rm -e ${name}=${secret} -p 80:80 acme/app\n`,
  option: (secret, name) => `./deploy --${kebab(name)} ${secret} --region eu\n`,
  log: (secret, name) => `2031-02-03T04:05:06Z WARN retry=3 ${name.toLowerCase()}=${secret} took=12ms\n`,
  Terraform: (secret, name) => `variable "x" {}\n${name.toLowerCase()}   = "${secret}"\n`,
  'cut by a line break': (secret, name) => `${name}=${cut(secret, '\n')}\nnext line\n`,
  'cut by a colour': (secret, name) => `${name}=${cut(secret, '\u001B[0m\u001B[1m')} done\n`,
  'cut by a character without width': (secret, name) => `${name}: ${cut(secret, '\u200B')} done\n`,
  'cut by an escape': (secret, name) => `{"${name}":"${escaped(secret)}","id":7}\n`,
};

const second: Record<string, Context> = {
  prose: (secret, name) => `I looked it up: the ${name} is ${secret}, which still works.\n`,
  Dockerfile: (secret, name) => `FROM node:20\nENV ${name}=${secret}\nRUN npm ci\n`,
  PowerShell: (secret, name) => `$env:${name} = "${secret}"\n.\\deploy.ps1\n`,
  fish: (secret, name) => `set -gx ${name} ${secret}\n`,
  'log of JSON': (secret, name) =>
    `app_1  | {"ts":1,"ctx":{"${camel(name)}":${JSON.stringify(secret)}},"msg":"started"}\n`,
  Kubernetes: (secret, name) => `kind: Secret\nstringData:\n  ${kebab(name)}: "${secret}"\n`,
  'response header': (secret, name) => `< HTTP/2 200\n< x-${kebab(name)}: ${secret}\n< date: now\n`,
  workflow: (secret, name) => `        env:\n          ${name}: '${secret}'\n        run: make\n`,
  CSV: (secret, name) => `name,value\n"${name}","${secret}"\n`,
  HTML: (secret, name) => `<input type="hidden" name="${kebab(name)}" value="${secret}">\n`,
  template: (secret, name) => `const ${camel(name)} = \`${secret}\`;\n`,
  Ruby: (secret, name) => `ENV['${name}'] ||= '${secret}'\n`,
  Go: (secret, name) => `\tcfg := Config{\n\t\t${name.replaceAll('_', '')}: "${secret}",\n\t}\n`,
  Java: (secret, name) => `    props.put("${name.toLowerCase().replaceAll('_', '.')}", "${secret}");\n`,
  C: (secret, name) => `#define ${name} "${secret}"\n`,
  Nix: (secret, name) => `  environment.${name} = "${secret}";\n`,
  'grep -n': (secret, name) => `config/.env:12:${name}=${secret}\nconfig/.env:13:PORT=80\n`,
  'coloured difference': (secret, name) => `\u001B[32m+${name}=${secret}\u001B[m\n`,
  quote: (secret, name) => `> ${name}=${secret}\n> thanks\n`,
  'log with a time': (secret, name) => `[2031-02-03 04:05:06,789] DEBUG app: resolved ${name}='${secret}'\n`,
  form: (secret, name) => `grant_type=x&${name.toLowerCase()}=${encodeURIComponent(secret)}&scope=all\n`,
  'cut by an indented line': (secret, name) => `${name}: ${cut(secret, '\r\n    ', Math.floor(secret.length * 0.6))}\n`,
  'cut by a colour that goes on': (secret, name) => `${name} = ${cut(secret, '\u001B[38;5;208m', 9)}\u001B[0m\n`,
  'cut by a joiner': (secret, name) => `"${name}": "${cut(secret, '\u2060', 11)}"\n`,
  'cut by an escape in a name': (secret, name) => `{"msg":"{\\"${name}\\":\\"${escaped(secret, 7)}\\"}"}\n`,
};

const third: Record<string, Context> = {
  sentence: (secret, name) => `Use ${name}=${secret} when you call it.\n`,
  'docker compose': (secret, name) => `services:\n  app:\n    environment:\n      - ${name}=${secret}\n`,
  'docker compose, a map': (secret, name) => `    environment:\n      ${name}: "${secret}"\n      LOG: info\n`,
  'command with variables': (secret, name) => `$ ${name}=${secret} npm run deploy\n`,
  'set of Windows': (secret, name) => `set ${name}=${secret}\r\necho done\r\n`,
  env: (secret, name) => `SHELL=/bin/sh\n${name}=${secret}\n_=/usr/bin/env\n`,
  'declare -x': (secret, name) => `declare -x ${name}="${secret}"\n`,
  'JSON of name and value': (secret, name) =>
    JSON.stringify(
      [
        { name, value: secret },
        { name: 'PORT', value: '80' },
      ],
      null,
      2,
    ),
  'compact JSON': (secret, name) => `{"id":1,"${kebab(name)}":"${secret}","ok":true}\n`,
  'Python dict': (secret, name) => `{'host': 'acme', '${name.toLowerCase()}': '${secret}', 'port': 80}\n`,
  'Python argument': (secret, name) => `client = Client(host="acme", ${name.toLowerCase()}="${secret}")\n`,
  Rust: (secret, name) => `    const ${name}: &str = "${secret}";\n`,
  'C#': (secret, name) => `    public const string ${camel(name)} = "${secret}";\n`,
  PHP: (secret, name) => `define('${name}', '${secret}');\n`,
  'PHP array': (secret, name) => `    '${name.toLowerCase()}' => '${secret}',\n`,
  Kotlin: (secret, name) => `    buildConfigField("String", "${name}", "\\"${secret}\\"")\n`,
  tfvars: (secret, name) => `${name.toLowerCase()} = "${secret}"\n`,
  'GitHub CLI': (secret, name) => `gh secret set ${name} --body "${secret}"\n`,
  kubectl: (secret, name) => `kubectl create secret generic x --from-literal=${name}=${secret}\n`,
  'log with colours': (secret, name) =>
    `\u001B[90m12:01\u001B[0m \u001B[34m${name}\u001B[0m: \u001B[33m"${secret}"\u001B[0m\n`,
  'diff of JSON': (secret, name) => `-  "${camel(name)}": "",\n+  "${camel(name)}": "${secret}",\n`,
  'list item': (secret, name) => `- **${name}**: \`${secret}\`\n- PORT: 80\n`,
  'cut at eighty columns': (secret, name) =>
    `${`${'='.repeat(60)} ${name}=${secret}`.replace(/^(.{80})/su, '$1\n')}\nnext\n`,
  'cut by a space without width': (secret, name) => `${name}=${cut(secret, '\u200C\u200D', 10)}\n`,
  'cut by two colours': (secret, name) =>
    `${name}: ${cut(secret, '\u001B[7m', 8).slice(0, -3)}\u001B[27m${secret.slice(-3)}\n`,
};

const fourth: Record<string, Context> = {
  'a result of a tool': (secret, name) => JSON.stringify({ content: `loaded\n${name}=${secret}\nready` }),
  'a name and a quotation': (secret, name) => `Error: 401 for ${name} "${secret}"\n`,
  'setenv of csh': (secret, name) => `setenv ${name} ${secret}\n`,
  'the alternative of a variable': (secret, name) => `const key = process.env.${name} || '${secret}';\n`,
  'an assignment to the environment': (secret, name) => `process.env.${name} = "${secret}";\n`,
  columns: (secret, name) => `Key              Value\n---              -----\n${name}    ${secret}\n`,
  'an underlined heading': (secret, name) => `Data\n====\n${name}:\n----\n${secret}\n\nEvents: <none>\n`,
  'outputs of Terraform': (secret, name) =>
    JSON.stringify({ [name.toLowerCase()]: { sensitive: true, type: 'string', value: secret } }, undefined, 2),
  'XML of name and value': (secret, name) => `<setting name="${name}"><value>${secret}</value></setting>\n`,
  'a list of properties': (secret, name) => `<key>${name}</key>\n<string>${secret}</string>\n`,
  'a header in capitals': (secret, name) => `headers = {"${name.replaceAll('_', '-')}": "${secret}"}\n`,
  'a deep map': (secret, name) => `a:\n  b:\n    ${camel(name)}: ${secret}\n`,
  'cut by an erased line': (secret, name) => `${name}=${cut(secret, '\u001B[K', 6)}\n`,
  'cut by a colour in quotation marks': (secret, name) =>
    `${name}: "${cut(secret, '\u001B[38;2;1;2;3m', 6)}\u001B[0m"\n`,
};

export const contexts: Record<'first' | 'second' | 'third' | 'fourth', Record<string, Context>> = {
  first,
  second,
  third,
  fourth,
};
