/** The machine's environment without variables that slow Node down or change git. */
export function quietEnvironment() {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(GIT_|UWF_|NODE_EXTRA_CA_CERTS$|NODE_OPTIONS$)/.test(name),
  );
  return { ...Object.fromEntries(kept), GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1', UWF_TRUST: 'all' };
}
