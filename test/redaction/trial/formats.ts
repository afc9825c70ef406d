import { Letters } from '../kinds.ts';

/**
 * Formats of secrets, written from what providers publish and without a look at the table of rules: each row is the name
 * of a variable and a form. A part in braces is random: an alphabet and a length. A part with `?` is no secret (an id, a
 * region). Rows of the first set were used to mend the table; those of the second were not.
 */
const first = `
AWS_ACCESS_KEY_ID AKIA{B16}
AWS_SECRET_ACCESS_KEY {b40}
GITHUB_TOKEN ghs_{a36}
GH_PAT github_pat_{a22}_{a59}
CI_JOB_TOKEN glcbt-64_{u20}
GITLAB_AGENT_TOKEN glagent-{u50}
SLACK_BOT_TOKEN xoxb-{d12?}-{d13?}-{a24}
SLACK_WEBHOOK https://hooks.slack.com/services/T{U8?}/B{U10?}/{a24}
STRIPE_SECRET_KEY sk_live_51{a97}
STRIPE_WEBHOOK_SECRET whsec_{a32}
GOOGLE_API_KEY AIza{u35}
GOOGLE_CLIENT_SECRET GOCSPX-{u28}
GCP_ACCESS_TOKEN ya29.a0{u170}
OPENAI_API_KEY sk-proj-{u74}T3BlbkFJ{u74}
ANTHROPIC_API_KEY sk-ant-api03-{u93}AA
HF_TOKEN hf_{a34}
REPLICATE_API_TOKEN r8_{a37}
XAI_API_KEY xai-{a80}
DEEPSEEK_API_KEY sk-{h32}
FIREWORKS_API_KEY fw_{a24}
CEREBRAS_API_KEY csk-{l48}
LANGFUSE_SECRET_KEY sk-lf-{x}
TAVILY_API_KEY tvly-{a32}
EXA_API_KEY {x}
MODAL_TOKEN_SECRET as-{a22}
ZHIPU_API_KEY {h32}.{a16}
MISTRAL_API_KEY {a32}
ATLASSIAN_API_TOKEN ATATT3xFfGF0{u172}={H8}
BITBUCKET_APP_PASSWORD ATBB{a24}{H8}
AZURE_CLIENT_SECRET {a3}8Q~{u34}
AZURE_STORAGE_CONNECTION_STRING DefaultEndpointsProtocol=https;AccountName=acme;AccountKey={b86}==;EndpointSuffix=core.windows.net
AZURE_DEVOPS_EXT_PAT {z52}
SERVICEBUS_CONNECTION Endpoint=sb://acme.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey={b43}=
COSMOS_KEY {b86}==
ADOBE_CLIENT_SECRET p8e-{u32}
FCM_SERVER_KEY AAAA{u7}:APA91b{u134}
DISCORD_BOT_TOKEN {D18}.G{u5}.{u38}
DISCORD_WEBHOOK_URL https://discord.com/api/webhooks/{d18?}/{u68}
TELEGRAM_BOT_TOKEN {d10?}:AAH{u32}
TWILIO_AUTH_TOKEN {h32}
SENDGRID_API_KEY SG.{u22}.{u43}
MAILCHIMP_API_KEY {h32}-us14
MAILGUN_API_KEY {h32}-{h8}-{h8}
RESEND_API_KEY re_{a8}_{a24}
ONESIGNAL_API_KEY os_v2_app_{z103}
KLAVIYO_API_KEY pk_{h34}
SHOPIFY_ACCESS_TOKEN shpat_{h32}
SQUARE_ACCESS_TOKEN EAAA{u60}
PAYPAL_CLIENT_SECRET E{u79}
PAYSTACK_SECRET_KEY sk_live_{h40}
MOLLIE_API_KEY live_{a30}
PADDLE_API_KEY pdl_live_apikey_{l26}_{a22}_{a3}
RAZORPAY_KEY_SECRET {a24}
DIGITALOCEAN_TOKEN dop_v1_{h64}
HCLOUD_TOKEN {a64}
SCW_SECRET_KEY {x}
FLY_API_TOKEN FlyV1 fm2_{b200}
HEROKU_API_KEY HRKU-AA{u58}
NETLIFY_AUTH_TOKEN nfp_{a36}
CLOUDFLARE_API_TOKEN {u40}
CLOUDFLARE_ORIGIN_CA_KEY v1.0-{h24}-{h146}
SUPABASE_ACCESS_TOKEN sbp_{h40}
PLANETSCALE_PASSWORD pscale_pw_{u43}
MONGODB_ATLAS_CLIENT_SECRET mdb_sa_sk_{u40}
COCKROACH_API_KEY CCDB1_{a22}_{a40}
DATABRICKS_TOKEN dapi{h32}
DBT_CLOUD_API_TOKEN dbtc_{u46}
ALGOLIA_ADMIN_KEY {h32}
APPWRITE_API_KEY standard_{h256}
GHOST_ADMIN_API_KEY {h24?}:{h64}
DATADOG_API_KEY {h32}
NEW_RELIC_API_KEY NRAK-{U27}
SENTRY_AUTH_TOKEN sntrys_eyJ{b120}_{b43}
GRAFANA_TOKEN glsa_{a32}_{h8}
SPLUNK_HEC_TOKEN {x}
CORALOGIX_API_KEY cxtp_{a30}
HONEYCOMB_API_KEY hcaik_{l58}
NPM_TOKEN npm_{a36}
PYPI_TOKEN pypi-AgEIcHlwaS5vcmc{u150}
NUGET_API_KEY oy2{l43}
CARGO_REGISTRY_TOKEN cio{a32}
ARTIFACTORY_TOKEN cmVmdGtuOjAxOj{a50}
BUILDKITE_TOKEN bkua_{h40}
TRAVIS_TOKEN {u22}
SONAR_TOKEN squ_{h40}
HARNESS_API_KEY pat.{u22}.{h24}.{a20}
LAUNCHDARKLY_SDK_KEY sdk-{x}
STATSIG_SECRET_KEY secret-{a43}
DOPPLER_TOKEN dp.pt.{a43}
INFISICAL_TOKEN st.{h24}.{h32}.{h32}
VAULT_TOKEN hvs.CAES{u91}
BWS_ACCESS_TOKEN 0.{x}.{a30}:{b22}==
PULUMI_ACCESS_TOKEN pul-{h40}
LINEAR_API_KEY lin_api_{a40}
NOTION_TOKEN ntn_{d11}{a35}
AIRTABLE_TOKEN pat{a14}.{h64}
CLICKUP_TOKEN pk_{d8?}_{U32}
TODOIST_API_TOKEN {h40}
SALESFORCE_ACCESS_TOKEN 00D{a12?}!AQ{u94}
ZOOM_CLIENT_SECRET {a32}
OKTA_API_TOKEN 00{u40}
CLERK_SECRET_KEY sk_live_{a42}
STYTCH_SECRET secret-live-{u44}=
TWITTER_BEARER_TOKEN AAAAAAAAAAAAAAAAAAAAA{a30}%3D{a50}
FACEBOOK_ACCESS_TOKEN EAAG{a180}
DROPBOX_TOKEN sl.{u140}
YANDEX_CLOUD_KEY AQVN{u36}
ALIBABA_ACCESS_KEY_SECRET {a30}
TENCENT_SECRET_ID AKID{a32}
TEAMS_WEBHOOK https://acme.webhook.office.com/webhookb2/{x?}@{x?}/IncomingWebhook/{h32}/{x}
TS_AUTHKEY tskey-auth-{a12?}-{a32}
NGROK_AUTHTOKEN 2{a26}_{a21}
AGE_KEY AGE-SECRET-KEY-1{q58}
RAILS_MASTER_KEY {h32}
APP_KEY base64:{b43}=
NEXTAUTH_SECRET {b43}=
JWT_SECRET {a48}
KUBE_TOKEN eyJhbGciOiJSUzI1NiIsImtpZCI6I{u30}.eyJpc3MiOiJrdWJlcm5ldGVz{u200}.{u342}
K3S_TOKEN K10{h64}::server:{h32}
ETH_PRIVATE_KEY 0x{h64}
ALCHEMY_URL https://eth-mainnet.g.alchemy.com/v2/{u32}
INFURA_PROJECT_SECRET {h32}
MAPBOX_TOKEN sk.eyJ1Ijoi{u80}.{u22}
OPENWEATHER_API_KEY {h32}
VIRUSTOTAL_API_KEY {h64}
MAXMIND_LICENSE_KEY {a6}_{a29}_mmk
CLOUDINARY_URL cloudinary://{d15?}:{u27}@acme
B2_APPLICATION_KEY K004{b27}
PUBNUB_SECRET_KEY sec-c-{b48}
INNGEST_SIGNING_KEY signkey-prod-{h64}
POLAR_ACCESS_TOKEN polar_oat_{a40}
THUNDERSTORE_TOKEN tss_{a40}
OPENSHIFT_TOKEN sha256~{u43}
LICHESS_TOKEN lip_{a20}
TRIGGER_SECRET_KEY tr_prod_{a20}
POSTGRES_URL postgresql://app:{a18}@db.acme.dev:5432/main
SMTP_URL smtps://bot%40acme.dev:{a16}@smtp.acme.dev:465
PROXY_AUTH Bearer {u40}
SESSION_SECRET {h64}
SAS_TOKEN sv=2022-11-02&ss=bf&srt=co&sp=rw&se=2031-02-03T04:05:06Z&spr=https&sig={b43}%3D
`;

const second = `
AWS_TEMP_KEY_ID ASIA{B16}
AWS_SESSION_TOKEN IQoJb3JpZ2luX2VjE{b360}==
GITHUB_APP_TOKEN ghu_{a36}
GITHUB_CLIENT_SECRET {h40}
GITLAB_TOKEN glpat-{u20}
GITLAB_RUNNER_TOKEN GR1348941{u20}
GITLAB_FEED_TOKEN glft-{u20}
SLACK_USER_TOKEN xoxp-{d12?}-{d12?}-{d13?}-{h32}
SLACK_APP_TOKEN xapp-1-A{U10?}-{d13?}-{h64}
STRIPE_RESTRICTED_KEY rk_live_51{a97}
GOOGLE_REFRESH_TOKEN 1//0g{u100}
OPENAI_SERVICE_KEY sk-svcacct-{u74}T3BlbkFJ{u74}
OPENAI_LEGACY_KEY sk-{a20}T3BlbkFJ{a20}
CLAUDE_CODE_OAUTH_TOKEN sk-ant-oat01-{u93}AA
GROQ_API_KEY gsk_{a52}
PERPLEXITY_API_KEY pplx-{a48}
OPENROUTER_API_KEY sk-or-v1-{h64}
NVIDIA_API_KEY nvapi-{u64}
LANGSMITH_API_KEY lsv2_pt_{h32}_{h10}
PINECONE_API_KEY pcsk_{a6}_{a63}
VOYAGE_API_KEY pa-{u43}
ELEVENLABS_API_KEY sk_{h48}
DEEPGRAM_API_KEY {h40}
ASSEMBLYAI_API_KEY {h32}
COHERE_API_KEY {a40}
MOONSHOT_API_KEY sk-{a48}
RUNPOD_API_KEY rpa_{U44}
ANYSCALE_API_KEY esecret_{l26}
WANDB_API_KEY {h40}
AI_GATEWAY_KEY vck_{a56}
ATLASSIAN_ADMIN_TOKEN ATCTT3xFfGN0{u160}={H8}
AZURE_SEARCH_KEY {a42}AzSe{a6}
AZURE_FUNCTION_KEY {u44}AzFu{a8}==
EVENTHUB_CONNECTION Endpoint=sb://logs.servicebus.windows.net/;SharedAccessKeyName=send;SharedAccessKey={b43}=;EntityPath=logs
IOTHUB_CONNECTION HostName=acme.azure-devices.net;DeviceId=d1;SharedAccessKey={b43}=
AZURE_OPENAI_API_KEY {a84}
SAS_URL https://acme.blob.core.windows.net/c/f?sv=2023-11-03&ss=b&srt=o&sp=r&se=2031-01-01T00:00:00Z&sig={a43}%3D
FCM_DEVICE_TOKEN {u22}:APA91b{u134}
DISCORD_TOKEN {D19}.Gx{u4}.{u27}
DISCORD_CLIENT_SECRET {u32}
TWILIO_API_KEY SK{h32}
TWILIO_API_SECRET {a32}
POSTMARK_SERVER_TOKEN {x}
BREVO_API_KEY xkeysib-{h64}-{a16}
MAILERSEND_API_KEY mlsn.{h64}
LOOPS_API_KEY {h32}
COURIER_AUTH_TOKEN pk_prod_{U28}
VONAGE_API_SECRET {a16}
SHOPIFY_APP_SECRET shpss_{h32}
BRAINTREE_ACCESS_TOKEN access_token$production\${l16?}\${h32}
PLAID_SECRET {h30}
ADYEN_API_KEY AQE{a80}-{b43}=-{a16}
FLUTTERWAVE_SECRET_KEY FLWSECK-{h32}-X
CHECKOUT_SECRET_KEY sk_{l26}
REVENUECAT_SECRET sk_{a32}
COINBASE_API_SECRET {u64}
LINODE_TOKEN {h64}
VULTR_API_KEY {U36}
RENDER_API_KEY rnd_{a32}
VERCEL_TOKEN vcp_{a56}
RAILWAY_TOKEN {x}
FASTLY_API_TOKEN {u32}
AKAMAI_CLIENT_TOKEN akab-{l16}-{l16}
NEON_API_KEY napi_{l64}
UPSTASH_REDIS_REST_TOKEN AX{a50}
CONFLUENT_API_SECRET {b64}
SNOWFLAKE_PASSWORD {a20}
PREFECT_API_KEY pnu_{a36}
ELASTIC_API_KEY {b58}==
MEILI_MASTER_KEY {u43}
CONTENTFUL_MANAGEMENT_TOKEN CFPAT-{u43}
SANITY_TOKEN sk{a78}
STORYBLOK_TOKEN {a22}tt
DD_APP_KEY {h40}
NEW_RELIC_LICENSE_KEY {h36}NRAL
SENTRY_USER_TOKEN sntryu_{h64}
GRAFANA_CLOUD_TOKEN glc_eyJ{b130}
PAGERDUTY_TOKEN u+{u18}
DYNATRACE_TOKEN dt0c01.{B24?}.{B64}
AXIOM_TOKEN xaat-{x}
BETTERSTACK_TOKEN {a24}
CHECKLY_API_KEY cu_{h32}
INSTANA_API_TOKEN {u22}
RUBYGEMS_API_KEY rubygems_{h48}
DOCKER_PAT dckr_pat_{u27}
JFROG_API_KEY AKCp8{a68}
CLOUDSMITH_API_KEY {h40}
EXPO_TOKEN {u40}
CIRCLE_TOKEN CCIPAT_{a22}_{h40}
DRONE_TOKEN {a32}
CODECOV_TOKEN {x}
SNYK_TOKEN {x}
SEMGREP_APP_TOKEN {h64}
JENKINS_TOKEN 11{h32}
OCTOPUS_API_KEY API-{U26}
TEAMCITY_TOKEN eyJ0eXAiOiAiVENWMiJ9.{a36}.{a48}
UNLEASH_TOKEN *:production.{h56}
FLAGSMITH_KEY ser.{a22}
TFE_TOKEN {a14}.atlasv1.{u64}
OP_SERVICE_ACCOUNT_TOKEN ops_eyJ{b300}
SPACELIFT_API_SECRET {h64}
FIGMA_TOKEN figd_{u40}
ASANA_TOKEN 2/{d16?}/{d16?}:{h32}
TRELLO_TOKEN ATTA{h64}{H8}
MONDAY_TOKEN eyJhbGciOiJIUzI1NiJ9.{u200}.{u43}
HUBSPOT_TOKEN pat-na1-{x}
INTERCOM_TOKEN dG9rO{a55}=
ZENDESK_API_TOKEN {a40}
FRESHDESK_API_KEY {a20}
TYPEFORM_TOKEN tfp_{a44}_{a14}
CALENDLY_TOKEN eyJraWQiOiIxY2Ux{u40}.{u180}.{u86}
POSTHOG_PERSONAL_KEY phx_{a43}
SEGMENT_WRITE_KEY {a32}
AUTH0_CLIENT_SECRET {u64}
WORKOS_API_KEY sk_live_{a50}
TWITCH_OAUTH oauth:{l30}
SPOTIFY_CLIENT_SECRET {h32}
REDDIT_CLIENT_SECRET {u30}
INSTAGRAM_TOKEN IGQVJ{a150}
VK_TOKEN vk1.a.{u190}
ALIBABA_ACCESS_KEY_ID LTAI5t{a18}
BAIDU_KEY bce-v3/ALTAK-{a21?}/{h40}
GOOGLE_CHAT_WEBHOOK https://chat.googleapis.com/v1/spaces/{u11?}/messages?key=AIza{u35}&token={u43}
DINGTALK_WEBHOOK https://oapi.dingtalk.com/robot/send?access_token={h64}
FEISHU_WEBHOOK https://open.feishu.cn/open-apis/bot/v2/hook/{x}
ZAPIER_HOOK https://hooks.zapier.com/hooks/catch/{d8?}/{l7}/
WG_PRIVATE_KEY {b43}=
DJANGO_SECRET_KEY django-insecure-{a50}
ENCRYPTION_KEY {h64}
SIGNING_SECRET {h32}
COOKIE_SECRET {a40}
KUBEADM_TOKEN {l6}.{l16}
BITCOIN_WIF L{a51}
ETHERSCAN_API_KEY {U34}
SHODAN_API_KEY {a32}
IPINFO_TOKEN {h14}
HERE_API_KEY {u43}
ABLY_API_KEY {u6?}.{u6?}:{u43}
IMAGEKIT_PRIVATE_KEY private_{b27}=
LIVEBLOCKS_SECRET_KEY sk_prod_{u64}
DUB_API_KEY dub_{a24}
ZUPLO_KEY zpka_{h32}_{h8}
DEFINED_API_KEY dnkey-{B26}-{B52}
INTRA42_SECRET s-s4t2ud-{h64}
POSTMAN_API_KEY PMAK-{h24}-{h34}
MYSQL_URL mysql://root:{a14}@10.0.0.4:3306/shop
AMQP_URL amqps://svc:{a22}@mq.acme.dev/vhost
REDIS_URL rediss://default:{a32}@eu1-cache.upstash.io:6379
GIT_REMOTE https://x-access-token:{a36}@github.com/acme/app.git
BEARER Bearer {a43}
`;

const third = `
APPVEYOR_TOKEN v2.{l20}
ASAAS_API_KEY $aact_prod_{a160}
COGNITO_CLIENT_SECRET {l52}
APPCONFIG_CONNECTION Endpoint=https://acme.azconfig.io;Id=abcd;Secret={b43}=
SIGNALR_CONNECTION Endpoint=https://acme.service.signalr.net;AccessKey={b43}=;Version=1.0;
BITLY_ACCESS_TOKEN {h40}
BITFINEX_API_SECRET {a43}
BINANCE_API_SECRET {a64}
BOX_CLIENT_SECRET {a32}
CLARIFAI_PAT {h32}
CLOSE_API_KEY api_{a22}.{a22}
CONTENTSTACK_MANAGEMENT_TOKEN cs{h32}
CROWDIN_TOKEN {h80}
DATOCMS_API_TOKEN {h30}
DENO_DEPLOY_TOKEN ddp_{a36}
EVENTBRITE_TOKEN {U20}
FAUNADB_SECRET fnA{u40}
GITBOOK_TOKEN gb_api_{a40}
HCP_CLIENT_SECRET {u64}
IMGUR_CLIENT_SECRET {h40}
INFOBIP_API_KEY {h32}-{x}
JUMPCLOUD_API_KEY {h40}
KNOCK_API_KEY sk_{u43}
KONNECT_TOKEN kpat_{a54}
LIVEKIT_API_SECRET {a43}
LOKALISE_TOKEN {h40}
MATRIX_ACCESS_TOKEN syt_{a20}_{a20}_{a6}
METABASE_API_KEY mb_{b43}=
MERAKI_DASHBOARD_API_KEY {h40}
ATLAS_PRIVATE_KEY {x}
NYLAS_API_KEY nyk_v0_{a64}
ONFIDO_API_TOKEN api_live.{u11}.{u32}
OPTIMIZELY_TOKEN 2:{u43}
PIVOTAL_TRACKER_TOKEN {h32}
PROXMOX_TOKEN PVEAPIToken=root@pam!ci={x}
PUSHBULLET_TOKEN o.{a32}
PUSHOVER_TOKEN a{l29}
RETOOL_API_KEY retool_01{l32}
SAMSARA_API_TOKEN samsara_api_{a30}
SAUCE_ACCESS_KEY {x}
SCALE_API_KEY live_{h32}
SENDBIRD_API_TOKEN {h40}
SHORTCUT_API_TOKEN {x}
SMARTSHEET_ACCESS_TOKEN {a37}
STRAVA_CLIENT_SECRET {h40}
STREAM_API_SECRET {l64}
TEAMWORK_API_KEY twp_{a50}
TELNYX_API_KEY KEY{H32}_{a22}
TINYBIRD_TOKEN p.eyJ1IjogI{a60}.{u43}
TUMBLR_CONSUMER_SECRET {a50}
UPTIMEROBOT_API_KEY u{d7?}-{h24}
UPLOADTHING_SECRET sk_live_{h64}
VIMEO_ACCESS_TOKEN {h32}
WEBEX_TOKEN {u64}_PE93_{x}
WEBFLOW_TOKEN {h64}
WIT_AI_TOKEN {U32}
WOOCOMMERCE_SECRET cs_{h40}
XATA_API_KEY xau_{a38}
XENDIT_SECRET_KEY xnd_production_{a60}
ZEROTIER_TOKEN {a32}
ZOHO_REFRESH_TOKEN 1000.{h32}.{h32}
RABBITMQ_ERLANG_COOKIE_SECRET {U20}
CEPH_SECRET AQ{b36}==
NOSTR_PRIVATE_KEY nsec1{z58}
VAULT_UNSEAL_KEY {b43}=
CONSUL_ENCRYPTION_KEY {b43}=
APP_SECRET {h32}
SECRET_KEY_BASE {h128}
FERNET_KEY {u43}=
TURNSTILE_SECRET_KEY 0x4AAAAAAA{u27}
RECAPTCHA_SECRET 6Lc{u37}
HCAPTCHA_SECRET ES_{h32}
VAPID_PRIVATE_KEY {u43}
MONGO_URI mongodb+srv://app:{a16}@cluster0.ab12c.mongodb.net/main
ELASTIC_URL https://elastic:{a24}@es.acme.dev:9243
`;

export type Secret = { name: string; text: string; parts: readonly string[] };

export type TrialSet = 'first' | 'second' | 'third';
const sets: Record<TrialSet, string> = { first, second, third };

const alphabets: Record<string, (letters: Letters, length: number) => string> = {
  a: (letters, length) => letters.alnum(length),
  b: (letters, length) => letters.base64(length),
  D: (letters, length) => btoa(letters.digits(length)).replaceAll('=', ''),
  B: (letters, length) => letters.base32(length),
  d: (letters, length) => letters.digits(length),
  h: (letters, length) => letters.hex(length),
  H: (letters, length) => letters.hex(length).toUpperCase(),
  l: (letters, length) => letters.lower(length),
  q: (letters, length) => letters.of('QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L', length),
  u: (letters, length) => letters.url64(length),
  U: (letters, length) => letters.upper(length),
  x: (letters) => letters.uuid(),
  z: (letters, length) => letters.base32(length).toLowerCase(),
};

/** So many secrets of each row; `parts` is what must not be read afterwards. */
export function secretsOf(set: TrialSet, each: number): Secret[] {
  const rows = sets[set].trim().split('\n');
  return rows.flatMap((row, at) => {
    const [name, form] = [row.slice(0, row.indexOf(' ')), row.slice(row.indexOf(' ') + 1)];
    return Array.from({ length: each }, (_, draw) => {
      const letters = new Letters(Object.keys(sets).indexOf(set) * 4000 + 1000 + at * each + draw);
      const parts: string[] = [];
      const text = form.replaceAll(
        /\{([a-zA-Z])(\d*)(\??)\}/gu,
        (_, alphabet: string, length: string, open: string) => {
          const made = alphabets[alphabet]?.(letters, Number(length)) ?? '';
          if (open === '' && made.length >= 7) parts.push(made);
          return made;
        },
      );
      return { name, text, parts };
    });
  });
}
