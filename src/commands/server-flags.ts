import * as Flags from '@oclif/core/flags'

/** From the most to the least verbose. */
const logLevels = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof logLevels)[number]

/** The flags of a long-running command for what it prints, as the parser returns them. */
export interface OutputFlags {
  readonly 'log-level'?: LogLevel
  readonly quiet: boolean
  readonly json: boolean
}

export function levelOf({ 'log-level': level, quiet }: Omit<OutputFlags, 'json'>): LogLevel {
  return level ?? (quiet ? 'warn' : 'info')
}

interface AddressFlagTexts {
  readonly port: number
  /** The name of the server in help texts. */
  readonly server: string
  /** Default: the text for a server of MCP clients. */
  readonly publicUrl?: string
}

/** The network flags of a server; `server-settings.ts` checks the values. */
export function addressFlags({
  port,
  server,
  publicUrl = 'address that clients use, when it differs (behind a proxy)',
}: AddressFlagTexts) {
  return {
    port: Flags.integer({
      description: 'TCP port; 0 picks a free one',
      default: port,
      helpValue: 'PORT',
      min: 0,
      max: 65_535,
    }),
    host: Flags.string({
      description: 'address to listen on',
      default: '127.0.0.1',
      helpValue: 'ADDRESS',
    }),
    'public-url': Flags.string({ description: publicUrl, helpValue: 'URL' }),
    'allowed-host': Flags.string({
      description: 'a further name accepted in the Host header (repeatable)',
      helpValue: 'NAME',
      multiple: true,
      multipleNonGreedy: true,
    }),
    'allowed-origin': Flags.string({
      description: `a web origin that may call the ${server}, with CORS (repeatable)`,
      helpValue: 'ORIGIN',
      multiple: true,
      multipleNonGreedy: true,
    }),
    'trusted-proxy': Flags.string({
      description: 'proxy or network whose X-Forwarded-For is trusted (repeatable)',
      helpValue: 'ADDRESS|CIDR',
      multiple: true,
      multipleNonGreedy: true,
    }),
    'tls-cert': Flags.string({
      description: 'certificate in PEM, with its chain: serve HTTPS; reloaded on change',
      helpValue: 'FILE',
    }),
    'tls-key': Flags.string({
      description: 'key of the certificate, in PEM, not encrypted',
      helpValue: 'FILE',
    }),
  }
}

/** Of `serve` and `gateway`. */
export const offFlags = {
  'no-tools': Flags.boolean({ description: 'offer no tools to agents', default: false }),
  'no-page': Flags.boolean({ description: 'serve no live page at /', default: false }),
}

/** Of `gateway`, and of `serve --gateway`. */
export const aggregateFlag = Flags.boolean({
  description: 'serve the resources of all instances at the gateway, as instance://ID/…',
  default: false,
})

export const logFlags = {
  'log-level': Flags.option({ options: logLevels })({
    description: 'least severe log line [default: info, with --quiet: warn]',
    helpValue: 'LEVEL',
  }),
}

/** `example`: a limit of this server with a value. */
export function runFlags(example: string) {
  return {
    ...logFlags,
    limit: Flags.string({
      description: `change one limit, such as ${example} (repeatable)`,
      helpValue: 'NAME=NUMBER',
      multiple: true,
      multipleNonGreedy: true,
    }),
  }
}
