import * as Flags from '@oclif/core/flags'
import { quoteArgument } from '../lib/cli/format.ts'
import { captureModes } from '../server/capture/backend.ts'
import { visibilities } from '../lib/instances/join-wire.ts'
import { BaseCommand } from '../lib/cli/base-command.ts'
import { mcpServerFlags } from './server-flags.ts'
import { openWarning } from './auth-flags.ts'
import { defaultPorts } from './default-ports.ts'
import { readServeSettings } from './serve-settings.ts'
import { clientText, dirFlag, labelled, pageText, type Shown } from '../lib/cli/banner.ts'
import { paint } from '../lib/cli/output.ts'
import { systemTimer, within } from '../lib/util/time.ts'
import type { ServeHandle } from '../server/host/serve-options.ts'
import { runServer } from './run-server.ts'

export default class Serve extends BaseCommand {
  static override summary = 'Serve the live state of an application to AI clients'
  static override usage = 'serve [FLAGS]'
  static override description = `Runs beside the application, receives its scene, audit records, \
events and files over the host link, and offers them as MCP resources on /mcp. Listens only on this \
machine by default; see --host. With --artefacts the files are in a bucket that several servers share.

Requires a key from clients once one is made. After the last key is revoked, no client gets in until \
there is a new key or service-cli keys off is run.

Environment: SERVICE_MCP_API_KEY (a key for clients, beside those of service-cli \
keys create), SERVICE_HOST_TOKEN (the token of the application; generated for each run by \
default), SERVICE_JOIN_TOKEN (for --join), SERVICE_REGISTRY_DIR.`
  static override examples = [
    '<%= config.bin %> serve',
    '<%= config.bin %> serve --api-key-file ~/.config/mcp.key',
    '<%= config.bin %> serve --auth api-key',
    '<%= config.bin %> serve --dcc-type houdini --scene-file ./scene.json',
    '<%= config.bin %> serve --port 0 --json',
    '<%= config.bin %> serve --stdio',
    '<%= config.bin %> serve --join https://studio.example --join-token-file join.token',
    '<%= config.bin %> serve --limit maxSessions=20000',
  ]

  static override flags = {
    ...mcpServerFlags(defaultPorts.serve),
    stdio: Flags.boolean({
      description: 'serve one client over stdio; join the running server or start one',
    }),
    'dcc-type': Flags.string({
      description: 'kind of application, such as blender',
      default: 'unknown',
      helpValue: 'TYPE',
    }),
    name: Flags.string({ description: 'display name of this instance', helpValue: 'TEXT' }),
    artefacts: Flags.string({
      description: 'keep artefacts in this bucket',
      helpValue: 's3://BUCKET/PREFIX',
      exclusive: ['no-artefacts'],
    }),
    'documents-dir': Flags.string({
      description: 'folder of notes and checkpoints on a project share [default: your own]',
      helpValue: 'DIR',
    }),
    'no-artefacts': Flags.boolean({ description: 'serve no artefacts' }),
    'no-resources': Flags.boolean({ description: 'serve no resources and no tools' }),
    'no-notes': Flags.boolean({ description: 'keep no notes of people about the document' }),
    'scene-file': Flags.string({
      description: 'watch a JSON file and serve it as the scene',
      helpValue: 'FILE',
    }),
    capture: Flags.option({ options: captureModes })({
      description: 'window capture: auto, host (the application draws it), native or off',
      default: 'auto',
      helpValue: 'METHOD',
    }),
    'capture-title': Flags.string({
      description: 'part of the window title, to find the window without a process id',
      helpValue: 'TEXT',
    }),
    'host-token-file': Flags.string({
      description: 'file with the token the application presents',
      helpValue: 'FILE',
    }),
    'app-origin': Flags.string({
      description: 'web origin whose pages may be the application (repeatable)',
      helpValue: 'ORIGIN',
      multiple: true,
      multipleNonGreedy: true,
    }),
    gateway: Flags.boolean({
      description: 'also run the gateway, or take over when the current one stops',
    }),
    'gateway-port': Flags.integer({
      description: `TCP port of the gateway, with --gateway [default: ${defaultPorts.gateway}]`,
      helpValue: 'PORT',
      min: 1,
      max: 65_535,
    }),
    join: Flags.string({
      description: 'gateway of the studio to join; nothing listens here for it (repeatable)',
      helpValue: 'URL',
      multiple: true,
      multipleNonGreedy: true,
    }),
    'join-token-file': Flags.string({
      description: 'file with the token for --join; overrides SERVICE_JOIN_TOKEN',
      helpValue: 'FILE',
      dependsOn: ['join'],
    }),
    'visible-to': Flags.option({ options: visibilities })({
      description: 'users of that gateway who see this instance [default: owner]',
      dependsOn: ['join'],
    }),
  }

  override async run(): Promise<void> {
    const { flags, raw } = await this.parse(Serve)
    if (flags.stdio) {
      const given = raw.flatMap(word => (word.type === 'flag' ? [word.flag] : []))
      const { runServeStdio } = await import('./stdio/serve.ts')
      return runServeStdio(flags, given, process.env)
    }
    const settings = await readServeSettings(flags, process.env)
    await runServer(
      {
        settings,
        warning: openWarning(settings, process.env),
        async start(options, cancelled) {
          const { startServe } = await import('../server/serve.ts')
          return startServe(options, cancelled)
        },
        listening: ({ url, hostUrl, hostTokenFile, instanceId }) => ({
          url,
          host_url: hostUrl,
          host_token_file: hostTokenFile,
          instance_id: instanceId,
        }),
        secrets: ({ appOrigins }) => describeAppOrigins(appOrigins),
        banner: async ({ url, hostUrl, hostTokenFile, capture, pageLogin }, shown) => {
          await within(capture?.probe() ?? Promise.resolve(), probeTimeoutMs, systemTimer, () => {})
          return renderBanner({
            url,
            hostUrl,
            hostTokenFile,
            namedDir: settings.registryDir,
            page: pageLogin(),
            joins: settings.join?.gateways ?? [],
            capture,
            ...shown,
          })
        },
        addition: async ({ gatewayPageLogin }, { colour }) => {
          return pageText(await gatewayPageLogin(), colour, { label: 'Gateway page' })
        },
      },
      flags,
    )
  }
}

/** No other output has the tokens. */
function describeAppOrigins(origins: ServeHandle['appOrigins']) {
  const shown = origins.map(({ origin, token }) => ({ origin, token: token.reveal() }))
  const lines = shown.map(
    ({ origin, token }) => `Token of pages of ${origin}, shown once: ${token}\n`,
  )
  return { json: shown.length > 0 ? { app_origins: shown } : {}, text: lines.join('') }
}

/** The banner waits this long for a window that is named by its title. */
const probeTimeoutMs = 500

export interface BannerFacts extends Shown {
  /** A link that logs a browser in to the page, once. Null: there is no page. */
  readonly page: string | null
  readonly hostUrl: string
  /** Null when the token came from the environment. */
  readonly hostTokenFile: string | null
  /** The gateways that it joins. */
  readonly joins: readonly string[]
  /** Null: window capture is off. */
  readonly capture: Pick<NonNullable<ServeHandle['capture']>, 'unavailable'> | null
}

/** The banner of `serve`. */
export function renderBanner(facts: BannerFacts): string {
  const { url, hostUrl, hostTokenFile, joins, page, colour } = facts
  const joined = joins.map(
    (gateway, at) => `${labelled(at === 0 ? 'Joins' : '', gateway, colour)}\n`,
  )
  const token =
    hostTokenFile === null
      ? '$SERVICE_HOST_TOKEN'
      : `$(cat \\\n    ${quoteArgument(hostTokenFile, 'linux')})`
  return `
${labelled('MCP endpoint', url, colour)}
${pageText(page, colour, { later: `; later: service-cli page${dirFlag(facts)}` })}\
${labelled('Host link', hostUrl, colour)}
${labelled('Host token', hostTokenFile ?? 'from SERVICE_HOST_TOKEN', colour)}
${joined.join('')}\
${labelled('Window', captureSentence(facts.capture), colour)}

${clientText(facts, '')}

${paint(colour, 'bold', 'Connect an application')}
  Blender:           service-cli adapter blender
  your own (Python): service-cli adapter python

${paint(colour, 'bold', 'Or post a scene')}
  TOKEN=${token}
  curl -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
    -d '{"objects":[{"name":"Cube"}]}' ${hostUrl}/v1/scene

Ctrl-C stops.

`
}

function captureSentence(capture: BannerFacts['capture']): string {
  if (capture === null) return 'clients cannot see it: window capture is off'
  const { unavailable } = capture
  if (unavailable === null) return 'clients can see it; --capture off hides it'
  if (unavailable.reason === 'no_application') {
    return 'waits for an application; --capture off hides it'
  }
  return `${unavailable.message}; ${unavailable.hint}`
}
