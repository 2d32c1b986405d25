import type { Interfaces } from '@oclif/core'
import * as Flags from '@oclif/core/flags'
import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { checkLimits, defaultLimits } from '../lib/config/limits.ts'
import { messageOf, usage } from '../lib/util/errors.ts'
import { parseNetwork, parseOrigin, withoutBrackets } from '../lib/util/net.ts'
import type { ListenOptions } from '../server/http/listen-options.ts'
import { authFlags, type AuthFlags, readAuth } from './auth-flags.ts'
import { checkPath, registryDirFlag } from './path-flags.ts'

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

const many = { multiple: true, multipleNonGreedy: true } as const

/** The network flags of a server; `readAddress` checks the values. */
export function addressFlags(port: number) {
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
    'public-url': Flags.string({
      description: 'address that clients use, when it differs (behind a proxy)',
      helpValue: 'URL',
    }),
    'allowed-host': Flags.string({
      ...many,
      description: 'a further name accepted in the Host header (repeatable)',
      helpValue: 'NAME',
    }),
    'allowed-origin': Flags.string({
      ...many,
      description: 'a web origin that may call the server, with CORS (repeatable)',
      helpValue: 'ORIGIN',
    }),
    'trusted-proxy': Flags.string({
      ...many,
      description: 'proxy or network whose X-Forwarded-For is trusted (repeatable)',
      helpValue: 'ADDRESS|CIDR',
    }),
    'tls-cert': Flags.string({
      description: 'certificate in PEM, with its chain: serve HTTPS; reloaded on change',
      helpValue: 'FILE',
      dependsOn: ['tls-key'],
    }),
    'tls-key': Flags.string({
      description: 'key of the certificate, in PEM, not encrypted',
      helpValue: 'FILE',
      dependsOn: ['tls-cert'],
    }),
  }
}

/** Those flags as the parser returns them. */
export type AddressFlags = { port: number; host: string } & Partial<
  Interfaces.InferredFlags<ReturnType<typeof addressFlags>>
>

/** Throws `usage_invalid` naming the flag. */
export function readAddress(flags: AddressFlags): ListenOptions {
  const publicUrl = flags['public-url']
  const certFile = checkPath('tls-cert', flags['tls-cert'])
  const keyFile = checkPath('tls-key', flags['tls-key'])
  return {
    publicUrl: publicUrl === undefined ? undefined : checkPublicUrl(publicUrl),
    trustedProxies: flags['trusted-proxy']?.map(checkTrustedProxy),
    tls: certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile },
    port: flags.port,
    host: checkHost(flags.host),
    allowedHosts: (flags['allowed-host'] ?? []).map(checkAllowedHost),
    allowedOrigins: (flags['allowed-origin'] ?? []).map(value =>
      checkOrigin('allowed-origin', value),
    ),
  }
}

function checkHost(value: string): string {
  const host = withoutBrackets(value)
  if (isIP(host) !== 0 || /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(host)) return host
  throw usage(`--host ${value} is neither an address nor a host name`)
}

function checkPublicUrl(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : null
  const plain = url !== null && url.username + url.password + url.search + url.hash === ''
  if (plain && (url.protocol === 'http:' || url.protocol === 'https:')) return value
  throw usage('--public-url must be an http or https address without credentials, query or #')
}

function checkAllowedHost(value: string): string {
  if (/^(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(:\d{1,5})?$/i.test(value)) return value.toLowerCase()
  throw usage(`--allowed-host ${value} is not a host name`, 'write one name, as in studio.example')
}

export function checkOrigin(flag: string, value: string): string {
  const origin = parseOrigin(value)
  if (origin !== null) return origin
  throw usage(`--${flag} ${value} is not an origin`, 'write it as https://studio.example')
}

function checkTrustedProxy(value: string): string {
  if (parseNetwork(value) !== null) return value
  throw usage(
    `--trusted-proxy ${value} is neither an address nor a limited network`,
    'write it as 127.0.0.1 or 10.1.0.0/16',
  )
}

export const logFlags = {
  'log-level': Flags.option({ options: logLevels })({
    description: 'least severe log line [default: info, with --quiet: warn]',
    helpValue: 'LEVEL',
  }),
}

export const runFlags = {
  ...logFlags,
  limit: Flags.string({
    ...many,
    description: 'change one limit of docs/reference.md (repeatable)',
    helpValue: 'NAME=NUMBER',
  }),
}

/** The flags that `serve` and `gateway` share. */
export function mcpServerFlags(port: number) {
  return {
    ...addressFlags(port),
    ...registryDirFlag,
    aggregate: Flags.boolean({
      description: 'serve the resources of all instances at the gateway, as instance://ID/…',
    }),
    'no-tools': Flags.boolean({ description: 'offer no tools to agents' }),
    'no-page': Flags.boolean({ description: 'serve no live page at /' }),
    ...authFlags,
    ...runFlags,
  }
}

/** Parses all `--limit NAME=NUMBER`. Throws `usage_invalid`, naming the flag. */
export function readLimitFlags(
  words: string[] = [],
  defaults: object = defaultLimits,
): Record<string, number> {
  const limits: Record<string, number> = {}
  for (const word of words) {
    const [name = '', value = ''] = word.split('=', 2)
    limits[name] = /^\d{1,15}$/.test(value) ? Number(value) : NaN
  }
  try {
    return checkLimits(limits, defaults)
  } catch (error) {
    throw usage(`--limit NAME=NUMBER: ${messageOf(error)}`, 'docs/reference.md lists the limits')
  }
}

/** Those flags as the parser returns them. */
export type McpServerFlags = AddressFlags &
  AuthFlags &
  Omit<Partial<Interfaces.InferredFlags<ReturnType<typeof mcpServerFlags>>>, 'auth'>

/** The settings that `serve` and `gateway` share. Throws as those of each do. */
export async function readMcpServerSettings(flags: McpServerFlags, env: NodeJS.ProcessEnv) {
  const address = readAddress(flags)
  const { SERVICE_REGISTRY_DIR: variable } = env
  const registryDir = checkPath('registry-dir', flags['registry-dir'])
  return {
    ...address,
    registryDir: registryDir ?? (variable ? resolve(variable) : undefined),
    tools: flags['no-tools'] !== true,
    page: flags['no-page'] !== true,
    auth: await readAuth(address, flags, env),
    limits: readLimitFlags(flags.limit),
  }
}
