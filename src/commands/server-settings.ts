import { resolve } from 'node:path'
import { usage } from '../lib/util/errors.ts'
import type { ListenOptions } from '../server/http/listen-options.ts'
import { isIP } from 'node:net'
import { parseNetwork, parseOrigin, withoutBrackets } from '../lib/util/net.ts'

/** The flags that every server has, as the parser returns them. */
export interface AddressFlags {
  port: number
  host: string
  'public-url'?: string
  'allowed-host'?: string[]
  'allowed-origin'?: string[]
  'trusted-proxy'?: string[]
  'tls-cert'?: string
  'tls-key'?: string
}

/** Throws `usage_invalid` naming the flag. */
export function readAddress(flags: AddressFlags): ListenOptions {
  const publicUrl = flags['public-url']
  return {
    publicUrl: publicUrl === undefined ? undefined : checkPublicUrl(publicUrl),
    trustedProxies: flags['trusted-proxy']?.map(checkTrustedProxy),
    tls: readTls(flags),
    port: flags.port,
    host: checkHost(flags.host),
    allowedHosts: (flags['allowed-host'] ?? []).map(checkAllowedHost),
    allowedOrigins: (flags['allowed-origin'] ?? []).map(checkAllowedOrigin),
  }
}

/** Both files, or none: they are read when the server starts. */
function readTls(flags: AddressFlags): ListenOptions['tls'] {
  const certFile = checkPath('tls-cert', flags['tls-cert'])
  const keyFile = checkPath('tls-key', flags['tls-key'])
  if (certFile !== undefined && keyFile !== undefined) return { certFile, keyFile }
  if (certFile === undefined && keyFile === undefined) return undefined
  const [given, missing] = keyFile === undefined ? ['cert', 'key'] : ['key', 'cert']
  throw usage(`--tls-${given} needs --tls-${missing}`, 'name the certificate and its key')
}

/** `--registry-dir`, else the variable, as an absolute path; undefined: the default. */
export function readRegistryDir(
  flags: { 'registry-dir'?: string },
  env: NodeJS.ProcessEnv,
): string | undefined {
  const { SERVICE_REGISTRY_DIR: variable } = env
  return (
    checkPath('registry-dir', flags['registry-dir']) ?? (variable ? resolve(variable) : undefined)
  )
}

/** Other programs use the paths of a record, in folders of their own: they are made absolute. */
export function checkPath(flag: string, value: string | undefined): string | undefined {
  if (value === '') throw usage(`--${flag} is empty`, 'a variable in your shell may be unset')
  return value === undefined ? undefined : resolve(value)
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

function checkAllowedOrigin(value: string): string {
  const origin = parseOrigin(value)
  if (origin !== null) return origin
  throw usage(`--allowed-origin ${value} is not an origin`, 'write it as https://studio.example')
}

function checkTrustedProxy(value: string): string {
  if (parseNetwork(value) !== null) return value
  throw usage(
    `--trusted-proxy ${value} is neither an address nor a limited network`,
    'write it as 127.0.0.1 or 10.1.0.0/16',
  )
}
