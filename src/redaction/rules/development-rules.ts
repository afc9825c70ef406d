import { crc32 } from 'node:zlib';

import { hasDigit, hasDigitAndBothCases, named, prefixed, uuid } from './rule.ts';
import type { SecretRule } from './rule.ts';

/** Tokens for code, packages and their builds. Sources: the providers' pages on tokens, and GitHub's secret scanning. */
export const developmentRules: readonly SecretRule[] = [
  prefixed('github-token', 'ghp_ gho_ ghu_ ghs_ ghr_', '[A-Za-z0-9]{36,251}'),
  // Its last six characters are a checksum, which tells a token from what is written around it without a gap.
  {
    ...prefixed('github-token', 'ghp_ gho_ ghu_ ghs_ ghr_', ''),
    pattern: 'gh[pousr]_[A-Za-z0-9]{36}',
    isInWord: true,
    check: crc32Holds,
  },
  { ...prefixed('npm-token', 'npm_', ''), pattern: 'npm_[A-Za-z0-9]{36}', isInWord: true, check: crc32Holds },
  prefixed('github-token', 'ghs_', '\\d{4,12}_eyJ[\\w-]{20,400}\\.[\\w-]{20,1200}\\.[\\w-]{20,700}'),
  prefixed('github-token', 'github_pat_', '[A-Za-z0-9]{22}_[A-Za-z0-9]{59,200}'),
  prefixed(
    'gitlab-token',
    'glpat- gldt- glrt- glrtr- glptt- glft- glimt- glagent- gloas- glsoat- glffct- glwt-',
    '[\\w.-]{20,300}',
  ),
  prefixed('gitlab-job-token', 'glcbt-', '(?:[0-9a-zA-Z]{1,5}_)?[\\w.-]{20,300}'),
  prefixed('gitlab-runner-token', 'GR1348941', '[\\w-]{20,50}'),
  prefixed('bitbucket-token', 'ATBB ATCTT3xFfG', '[A-Za-z0-9_=-]{28,300}', { check: hasDigit }),
  prefixed('atlassian-token', 'ATATT3 ATSTT3 ATOATT3', '[A-Za-z0-9_=-]{60,300}'),
  prefixed('npm-token', 'npm_', '[A-Za-z0-9_]{36}'),
  prefixed('pypi-token', 'pypi-AgE', '[\\w-]{50,1000}'),
  prefixed('rubygems-token', 'rubygems_', '[0-9a-f]{48}'),
  prefixed('crates-token', 'cio', '[A-Za-z0-9]{32}', { check: hasDigitAndBothCases }),
  prefixed('nuget-key', 'oy2', '[a-z0-9]{43}'),
  prefixed('docker-token', 'dckr_pat_ dckr_oat_', '[\\w-]{27,40}'),
  prefixed('clojars-token', 'CLOJARS_', '[a-z0-9]{60}'),
  prefixed('packagist-token', 'packagist_', '[a-z]{3}_[0-9a-f]{68}'),
  prefixed('jfrog-key', 'AKCp', '[A-Za-z0-9]{69}'),
  prefixed('jfrog-token', 'cmVmd', '[A-Za-z0-9]{59}'),
  prefixed('terraform-token', '.atlasv1.', '', {
    before: [14],
    pattern: '[A-Za-z0-9]{14}\\.atlasv1\\.[\\w=-]{60,70}(?![\\w‹])',
  }),
  prefixed('pulumi-token', 'pul-', '[0-9a-f]{40}'),
  prefixed('buildkite-token', 'bkua_ bkct_ bkpi_ bkaa_', '[A-Za-z0-9]{40,120}'),
  prefixed('circleci-token', 'CCIPAT_ CCIPRJ_', '[A-Za-z0-9]{10,30}_[A-Za-z0-9]{30,60}'),
  prefixed('sonar-token', 'squ_ sqp_ sqa_ sqb_', '[0-9a-f]{40}'),
  prefixed('sourcegraph-token', 'sgp_ slk_ sgph_', '(?:(?:[0-9a-fA-F]{16}|local)_)?[0-9a-fA-F]{40,64}'),
  prefixed('codeclimate-token', 'qltp_ qltcp_', '[A-Za-z0-9_]{20,60}'),
  prefixed('snyk-token', 'snyk_', '(?:uat|sat)\\.[0-9a-f]{8}\\.[\\w-]{20,600}\\.[\\w-]{20,300}'),
  prefixed('infracost-key', 'ico-', '[A-Za-z0-9]{32}'),
  prefixed('harness-token', 'pat. sat.', '[\\w-]{22}\\.[A-Za-z0-9]{24}\\.[A-Za-z0-9]{20}'),
  prefixed('octopus-key', 'API-', '[A-Z0-9]{26}', {
    check: (secret) => /[0-9]/.test(secret) && /[A-Z]/.test(secret.slice(4)),
  }),
  prefixed('postman-key', 'PMAK-', '[0-9a-fA-F]{24}-[0-9a-fA-F]{34}'),
  prefixed('postman-collection-key', 'PMAT-', '[0-9A-Z]{26}'),
  prefixed('prefect-key', 'pnu_ pnb_', '[A-Za-z0-9]{36}'),
  prefixed('readme-key', 'rdme_', '[a-z0-9]{70}'),
  prefixed('rootly-key', 'rootly_', '[0-9a-f]{64}'),
  prefixed('ionic-token', 'ion_', '[a-z0-9]{42}'),
  named('gitea-token', 'gitea forgejo codeberg', '[0-9a-f]{40}'),
  named('jenkins-token', 'jenkins', '[0-9a-f]{32,34}'),
  prefixed('openshift-token', 'sha256~', '[\\w-]{43}'),
  prefixed('expo-token', 'expo_', '[\\w-]{40}', { check: hasDigitAndBothCases }),
  prefixed('jetbrains-token', 'perm:', '(?:[A-Za-z0-9+/]{2,80}={0,2}\\.){2}[A-Za-z0-9]{20,60}'),
  prefixed('chromatic-token', 'chpt_', '[A-Za-z0-9]{12,40}'),
  prefixed('launchdarkly-key', 'sdk- api- mob-', uuid),
  named('launchdarkly-key', 'launchdarkly launch_darkly ld_', `[\\w=-]{40}|${uuid}`),
  named('snyk-token', 'snyk', uuid),
  named('travis-token', 'travis', '[A-Za-z0-9_-]{22}'),
  named('codecov-token', 'codecov', `[A-Za-z0-9]{32}|${uuid}`),
  named('drone-token', 'drone', '[A-Za-z0-9]{32}'),
  named('cloudsmith-key', 'cloudsmith', '[0-9a-f]{40}'),
  named('artifactory-key', 'jfrog artifactory', '[A-Za-z0-9]{64}|[A-Za-z0-9]{73}'),
  named('buildkite-token', 'buildkite', '[0-9a-f]{40}|[A-Za-z0-9]{50}'),
  named('circleci-token', 'circle', '[0-9a-f]{40}'),
  named('sonar-token', 'sonar', '[0-9a-f]{40}'),
  named('jira-token', 'jira confluence atlassian', '[A-Za-z0-9]{24}', { check: hasDigit }),
];

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/**
 * Tells whether the last six characters of a token are the CRC-32 of the thirty before them, in base 62.
 *
 * GitHub's and npm's are. Source: github.blog, "Behind GitHub's new authentication token formats", 2021.
 */
function crc32Holds(token: string): boolean {
  let rest = crc32(token.slice(-36, -6));
  let checksum = '';
  for (let length = 0; length < 6; length++) {
    checksum = base62.charAt(rest % 62) + checksum;
    rest = Math.floor(rest / 62);
  }
  return token.endsWith(checksum);
}
